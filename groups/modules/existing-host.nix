# A machine that was installed before and is only ever switched: its root file
# system bears the label `nixos`, and its GRUB reads the menu that a switch
# writes.
{ lib, ... }:
{
  fileSystems."/" = lib.mkDefault {
    device = "/dev/disk/by-label/nixos";
    fsType = "ext4";
  };

  boot.loader.grub.device = lib.mkDefault "nodev";
}
