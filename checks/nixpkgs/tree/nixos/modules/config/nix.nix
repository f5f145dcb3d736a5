{ config, lib, ... }:
let
  cfg = config.nix;
  atom = lib.types.oneOf [
    lib.types.bool
    lib.types.int
    lib.types.float
    lib.types.str
    lib.types.path
    lib.types.package
  ];
  names =
    default: description:
    lib.mkOption {
      type = lib.types.listOf lib.types.str;
      inherit default description;
    };
  show =
    value:
    if builtins.isBool value then
      lib.boolToString value
    else if builtins.isList value then
      lib.concatMapStringsSep " " show value
    else
      toString value;
in
{
  options.nix = {
    enable = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether the machine has Nix.";
    };
    channel.enable = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether the machine has channels.";
    };
    gc = {
      automatic = lib.mkOption {
        type = lib.types.bool;
        default = false;
        description = "Whether garbage is collected regularly.";
      };
      dates = lib.mkOption {
        type = lib.types.either lib.types.singleLineStr (lib.types.listOf lib.types.str);
        default = [ "03:15" ];
        description = "When garbage is collected.";
      };
      options = lib.mkOption {
        type = lib.types.singleLineStr;
        default = "";
        description = "Options of the collector.";
      };
    };
    settings = lib.mkOption {
      type = lib.types.submodule {
        freeformType = lib.types.attrsOf (lib.types.either atom (lib.types.listOf atom));
        options = {
          trusted-users = names [ "root" ] "Who is trusted like root.";
          allowed-users = names [ "*" ] "Who may use Nix.";
          auto-optimise-store = lib.mkOption {
            type = lib.types.bool;
            default = false;
            description = "Whether equal files are stored once.";
          };
        };
      };
      default = { };
      description = "Settings of Nix.";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.etc."nix/nix.conf".text = lib.concatStrings (
      lib.mapAttrsToList (name: value: "${name} = ${show value}\n") cfg.settings
    );
    systemd.services.nix-gc = lib.mkIf cfg.gc.automatic {
      description = "Nix Garbage Collector";
      script = "exec nix-collect-garbage ${cfg.gc.options}";
      path = [ "/usr" ];
      serviceConfig.Type = "oneshot";
      startAt = cfg.gc.dates;
    };
  };
}
