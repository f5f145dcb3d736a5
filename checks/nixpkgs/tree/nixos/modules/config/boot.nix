{ config, lib, ... }:
let
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
in
{
  options.boot = {
    isContainer = flag false "Whether the machine is a container, which has no kernel of its own.";
    kernelModules = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "Kernel modules that are loaded.";
    };
    kernel.sysctl = lib.mkOption {
      type = lib.types.attrsOf (
        lib.types.nullOr (
          lib.types.oneOf [
            lib.types.bool
            lib.types.str
            lib.types.int
          ]
        )
      );
      default = { };
      description = "Values of kernel settings.";
    };
    tmp.cleanOnBoot = flag false "Whether /tmp is emptied at boot.";
    tmp.useTmpfs = flag false "Whether /tmp is in memory.";
    growPartition = flag false "Whether the root partition is grown at boot.";
  };

  config.environment.etc."sysctl.d/60-nixos.conf" = lib.mkIf (config.boot.kernel.sysctl != { }) {
    text = lib.concatStrings (
      lib.mapAttrsToList (
        name: value:
        lib.optionalString (value != null) "${name}=${if value == false then "0" else toString value}\n"
      ) config.boot.kernel.sysctl
    );
  };
}
