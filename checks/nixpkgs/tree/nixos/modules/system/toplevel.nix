{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.system;
  failed = map (a: a.message) (lib.filter (a: !a.assertion) config.assertions);
  checked =
    system:
    if failed != [ ] then
      throw "\nFailed assertions:\n${lib.concatMapStringsSep "\n" (message: "- ${message}") failed}"
    else
      lib.foldr (text: builtins.trace "warning: ${text}") system config.warnings;
in
{
  options.system = {
    path = lib.mkOption {
      type = lib.types.package;
      internal = true;
      description = "The programs that all users find.";
    };
    extraSystemBuilderCmds = lib.mkOption {
      type = lib.types.lines;
      default = "";
      internal = true;
      description = "Commands that add to the system.";
    };
    initInterfaceVersion = lib.mkOption {
      type = lib.types.str;
      default = "systemd 3";
      internal = true;
      description = "The contract between the system and what boots it; systems that differ in it need a reboot between them.";
    };
  };

  config.system.build.toplevel = checked (
    pkgs.runCommand "nixos-system-${cfg.name}-${cfg.nixos.label}" {
      passAsFile = [
        "activationScript"
        "dryActivationScript"
        "initScript"
        "extraCommands"
      ];
      inherit (cfg.build)
        activationScript
        dryActivationScript
        etc
        installBootLoader
        switchInhibitors
        switchToConfiguration
        ;
      inherit (cfg) path initInterfaceVersion;
      inherit (cfg.nixos) label distroId;
      inherit (pkgs) applets busybox systemd;
      platform = config.nixpkgs.hostPlatform.system;
      preSwitchCheck = cfg.preSwitchChecksScript;
      initScript = "#!${pkgs.busybox}/bin/busybox sh\n${builtins.readFile ./init.sh}";
      canSwitch = cfg.switch.enable;
      extraCommands = cfg.extraSystemBuilderCmds;
    } (builtins.readFile ./toplevel-build.sh)
  );
}
