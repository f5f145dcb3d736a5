# The packages for one system, as `import <nixpkgs> { … }` gives them.
{
  system,
  config ? { },
  overlays ? [ ],
}:
let
  lib = import ./lib;
  start = import ./pkgs { inherit lib system config; };
in
lib.fix (
  self: builtins.foldl' (packages: overlay: packages // overlay self packages) (start self) overlays
)
