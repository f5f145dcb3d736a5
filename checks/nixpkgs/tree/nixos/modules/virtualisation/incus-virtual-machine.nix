# A virtual machine on Incus. The system is as real as any here; of what boots, the
# stand-in has nothing to make an image of.
{ lib, ... }:
{
  boot.loader.grub.enable = false;
  boot.loader.systemd-boot.enable = true;
  fileSystems."/" = {
    device = "/dev/disk/by-label/nixos";
    fsType = "ext4";
  };
  users.users.root.initialHashedPassword = lib.mkOverride 150 "";

  system.build.metadata = throw "this stand-in for nixpkgs makes no virtual machines";
  system.build.qemuImage = throw "this stand-in for nixpkgs makes no virtual machines";
}
