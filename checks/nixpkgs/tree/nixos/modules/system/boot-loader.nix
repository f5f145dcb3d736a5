{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.boot.loader;
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
  limit = lib.mkOption {
    type = lib.types.nullOr lib.types.int;
    default = null;
    description = "How many generations the boot menu has.";
  };
in
{
  options.boot.loader = {
    grub = {
      enable = flag (!config.boot.isContainer) "Whether GRUB boots the machine.";
      device = lib.mkOption {
        type = lib.types.str;
        default = "";
        description = "The disk that GRUB is installed on.";
      };
      efiSupport = flag false "Whether GRUB is an EFI program.";
      configurationLimit = limit // {
        type = lib.types.int;
        default = 100;
      };
    };
    systemd-boot = {
      enable = flag false "Whether systemd-boot boots the machine.";
      configurationLimit = limit;
    };
    efi = {
      canTouchEfiVariables = flag false "Whether the installer may change EFI variables.";
      efiSysMountPoint = lib.mkOption {
        type = lib.types.str;
        default = "/boot";
        description = "Where the EFI system partition is.";
      };
    };
    timeout = lib.mkOption {
      type = lib.types.nullOr lib.types.int;
      default = 5;
      description = "How long the boot menu waits, in seconds.";
    };
    external = {
      enable = flag false "Whether a program of one's own installs the boot loader.";
      installHook = lib.mkOption {
        type = lib.types.path;
        description = "The program; it gets the path of the system.";
      };
    };
  };

  # The record of the system that the machine boots next is one small file,
  # whichever loader is chosen. In a container it stands for the link to the
  # system's init that NixOS makes there. As in the real one, systemd-boot has
  # entries for the newest generations only, and boots the newest where the one that
  # was asked for is none of them.
  config.system.build.installBootLoader =
    if cfg.external.enable then
      cfg.external.installHook
    else
      pkgs.writeShellScript "install-boot-loader" ''
        set -e
        mkdir -p /boot/loader
        boots=$1
        ${lib.optionalString cfg.systemd-boot.enable ''
          mkdir -p /boot/loader/entries
          rm -f /boot/loader/entries/nixos-*
          default='nixos-*'
          for n in $(ls /nix/var/nix/profiles | sed -n 's/^system-\([0-9]*\)-link$/\1/p' | sort -n ${
            lib.optionalString (cfg.systemd-boot.configurationLimit != null)
              "| tail -n ${toString cfg.systemd-boot.configurationLimit}"
          }); do
            newest=$(readlink -f /nix/var/nix/profiles/system-$n-link)
            echo "options init=$newest/init" >/boot/loader/entries/nixos-generation-$n.conf
            [ "$newest" != "$1" ] || default=nixos-generation-$n.conf
          done
          echo "default $default" >/boot/loader/loader.conf
          [ "$default" != 'nixos-*' ] || boots=$newest
        ''}
        echo "$boots" >/boot/loader/default.new
        mv /boot/loader/default.new /boot/loader/default
      '';
}
