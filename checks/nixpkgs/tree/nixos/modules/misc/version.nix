{ config, lib, ... }:
let
  cfg = config.system.nixos;
in
{
  options.system = {
    stateVersion = lib.mkOption {
      type = lib.types.strMatching "[0-9]{2}\\.[0-9]{2}";
      default = cfg.release;
      description = "The release whose defaults the state on this machine was made with.";
    };
    name = lib.mkOption {
      type = lib.types.str;
      default = if config.networking.hostName == "" then "unnamed" else config.networking.hostName;
      description = "The name of the system in its store path.";
    };
    configurationRevision = lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      description = "The revision of the sources that the system was made from.";
    };
    nixos = {
      release = lib.mkOption {
        type = lib.types.str;
        default = "25.11";
        readOnly = true;
        description = "The release whose options and unit names are followed.";
      };
      label = lib.mkOption {
        type = lib.types.strMatching "[a-zA-Z0-9:_.-]*";
        default = "${cfg.release}.${lib.concatStringsSep "-" (cfg.tags ++ [ "standin" ])}";
        description = "The version as it is shown and as it stands in `nixos-version`.";
      };
      tags = lib.mkOption {
        type = lib.types.listOf lib.types.str;
        default = [ ];
        description = "Words for the label.";
      };
      distroId = lib.mkOption {
        type = lib.types.str;
        default = "nixos";
        internal = true;
        description = "The ID in os-release of systems that may be switched.";
      };
      distroName = lib.mkOption {
        type = lib.types.str;
        default = "NixOS";
        internal = true;
        description = "The name in os-release.";
      };
    };
  };

  config.environment.etc."os-release".text = ''
    NAME="${cfg.distroName}"
    ID=${cfg.distroId}
    VERSION_ID="${cfg.release}"
    PRETTY_NAME="${cfg.distroName} ${cfg.label}"
  '';
}
