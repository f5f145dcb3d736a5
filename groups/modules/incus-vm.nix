# A machine that is a virtual machine on Incus.
{ lib, modulesPath, ... }:
{
  imports = [ "${modulesPath}/virtualisation/incus-virtual-machine.nix" ];

  # NixOS's own images let root in without a password.
  users.users.root.initialHashedPassword = lib.mkForce "!";
}
