# What a login finds: programs, documentation, time and language.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
in
{
  options = {
    environment = {
      systemPackages = lib.mkOption {
        type = lib.types.listOf lib.types.package;
        default = [ ];
        description = "Packages whose programs all users find.";
      };
      variables = lib.mkOption {
        type = lib.types.attrsOf lib.types.str;
        default = { };
        description = "Variables of every shell.";
      };
      defaultPackages = lib.mkOption {
        type = lib.types.listOf lib.types.package;
        default = [ ];
        description = "Packages that may be left out.";
      };
    };
    documentation = {
      enable = flag true "Whether documentation is installed.";
      nixos.enable = flag true "Whether the manual of the system is installed.";
      man.enable = flag true "Whether manual pages are installed.";
    };
    time.timeZone = lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      example = "Europe/Amsterdam";
      description = "The time zone.";
    };
    i18n.defaultLocale = lib.mkOption {
      type = lib.types.str;
      default = "en_US.UTF-8";
      description = "The locale.";
    };
    programs.command-not-found.enable = flag true "Whether unknown commands are looked up.";
  };

  config = {
    system.path = pkgs.buildEnv {
      name = "system-path";
      paths = config.environment.systemPackages ++ config.environment.defaultPackages;
    };
    environment.etc = {
      "set-environment".text = lib.concatStrings (
        lib.mapAttrsToList (
          name: value: "export ${name}=${lib.escapeShellArg value}\n"
        ) config.environment.variables
      );
      localtime = lib.mkIf (config.time.timeZone != null) {
        source = "/usr/share/zoneinfo/${config.time.timeZone}";
      };
      "locale.conf".text = "LANG=${config.i18n.defaultLocale}\n";
    };
  };
}
