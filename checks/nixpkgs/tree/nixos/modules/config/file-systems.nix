{ config, lib, ... }:
let
  mount =
    { name, ... }:
    {
      options = {
        mountPoint = lib.mkOption {
          type = lib.types.nonEmptyStr;
          default = name;
          description = "Where it is mounted.";
        };
        device = lib.mkOption {
          type = lib.types.nullOr lib.types.nonEmptyStr;
          default = null;
          description = "The device.";
        };
        label = lib.mkOption {
          type = lib.types.nullOr lib.types.nonEmptyStr;
          default = null;
          description = "The label of the device.";
        };
        fsType = lib.mkOption {
          type = lib.types.nonEmptyStr;
          default = "auto";
          description = "The type of the file system.";
        };
        options = lib.mkOption {
          type = lib.types.listOf lib.types.nonEmptyStr;
          default = [ "defaults" ];
          description = "Mount options.";
        };
        neededForBoot = lib.mkOption {
          type = lib.types.bool;
          default = false;
          description = "Whether the boot waits for it.";
        };
      };
    };
  line =
    fs:
    "${if fs.label != null then "LABEL=${fs.label}" else toString fs.device} ${fs.mountPoint} ${fs.fsType} ${lib.concatStringsSep "," fs.options} 0 2";
in
{
  options = {
    fileSystems = lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule mount);
      default = { };
      description = "The file systems that are mounted.";
    };
    swapDevices = lib.mkOption {
      type = lib.types.listOf (lib.types.attrsOf lib.types.anything);
      default = [ ];
      description = "The swap devices.";
    };
  };

  config = {
    environment.etc.fstab.text =
      lib.concatMapStrings (fs: line fs + "\n") (lib.attrValues config.fileSystems)
      + lib.concatMapStrings (swap: "${swap.device} none swap defaults\n") config.swapDevices;
    assertions = lib.mapAttrsToList (name: fs: {
      assertion = fs.device != null || fs.label != null || fs.fsType != "auto";
      message = "No device specified for mount point `${name}'.";
    }) config.fileSystems;
  };
}
