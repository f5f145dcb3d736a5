# A machine that is a container on Incus.
{ lib, modulesPath, ... }:
{
  imports = [ "${modulesPath}/virtualisation/lxc-container.nix" ];

  # NixOS's own images let root in without a password.
  users.users.root.initialHashedPassword = lib.mkForce "!";
}
