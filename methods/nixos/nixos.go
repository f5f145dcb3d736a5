// Package nixos knows NixOS systems: it evaluates and builds one, copies its
// closure to a machine, and makes it the machine's system.
//
// Nix is driven through its classic commands (nix-instantiate, nix-store,
// nix-env), whose text is the same from Nix 2.8 to today. An evaluation gets
// one explicit JSON argument and runs restricted: it reads the files of nixpkgs
// and of the module source and nothing else, no environment, no network.
package nixos
