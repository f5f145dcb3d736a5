{
  config,
  lib,
  ...
}:
let
  cfg = config.systemd;
  options = import ./unit-options.nix { inherit lib; };
in
{
  options.systemd = {
    enableEmergencyMode = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether a failed boot ends in a root shell.";
    };
    settings.Manager = lib.mkOption {
      type = lib.types.attrsOf options.unitOption;
      default = { };
      description = "Settings of the service manager.";
    };
  };

  config.environment.etc."systemd/system.conf" = lib.mkIf (cfg.settings.Manager != { }) {
    text = lib.generators.toINI { listsAsDuplicateKeys = true; } { inherit (cfg.settings) Manager; };
  };
}
