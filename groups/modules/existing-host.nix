# A machine that was installed before and is only ever switched. Where the run says
# nothing of where it is, its root file system bears the label `nixos`, and its GRUB
# reads the menu that a switch writes.
{
  coordinates,
  lib,
  ...
}:
let
  placement = coordinates.placement or "";
in
{
  imports =
    lib.optional (placement == "incus-container") ./incus-container.nix
    ++ lib.optional (placement == "incus-vm") ./incus-vm.nix;

  config = lib.mkIf (placement == "") {
    fileSystems."/" = lib.mkDefault {
      device = "/dev/disk/by-label/nixos";
      fsType = "ext4";
    };

    boot.loader.grub.device = lib.mkDefault "nodev";
  };
}
