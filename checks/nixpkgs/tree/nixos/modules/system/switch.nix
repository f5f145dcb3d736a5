{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.system;
in
{
  options.system = {
    preSwitchChecks = lib.mkOption {
      type = lib.types.attrsOf lib.types.str;
      default = { };
      description = "Shell texts that may refuse a switch; `$1` is the new system, `$2` the action.";
    };
    preSwitchChecksScript = lib.mkOption {
      type = lib.types.pathInStore;
      readOnly = true;
      internal = true;
      description = "All checks as one program.";
      default = "${pkgs.writeShellScript "pre-switch-checks" (
        "export PATH=${pkgs.applets}/bin:$PATH\n"
        + lib.concatStrings (
          lib.mapAttrsToList (name: text: ''
            # pre-switch check ${name}
            (
              set -e
              ${text}
            ) >&2
            if [ $? != 0 ]; then
              printf "Pre-switch check '%s' failed\n" ${lib.escapeShellArg name} >&2
              exit 1
            fi
          '') cfg.preSwitchChecks
        )
      )}";
    };
    switch = {
      enable = lib.mkOption {
        type = lib.types.bool;
        default = true;
        description = "Whether a running machine can be switched to the system.";
      };
      inhibitors = lib.mkOption {
        type = lib.types.attrsOf lib.types.str;
        default = { };
        description = "Values which, where the running system has others, call for a reboot and refuse a switch.";
      };
    };
  };

  config.system = {
    preSwitchChecks.switchInhibitors = builtins.readFile ./inhibitors.sh;

    # One pair a line: JSON for those who parse it, lines for the check.
    build.switchInhibitors = pkgs.writeText "switch-inhibitors" (
      "{"
      + lib.concatStringsSep "," (
        lib.mapAttrsToList (
          name: value: "\n${builtins.toJSON name}: ${builtins.toJSON value}"
        ) cfg.switch.inhibitors
      )
      + "\n}\n"
    );

    build.switchToConfiguration = pkgs.writeText "switch-to-configuration" (
      builtins.readFile ./switch-to-configuration.sh
    );
  };
}
