{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.virtualisation.incus;
  format = pkgs.formats.yaml { };
  incusd = lib.getExe cfg.package;
in
{
  options.virtualisation.incus = {
    enable = lib.mkEnableOption "incusd, a daemon that manages containers and virtual machines";
    package = lib.mkPackageOption pkgs "incus-lts" { };
    preseed = lib.mkOption {
      type = lib.types.nullOr (lib.types.submodule { freeformType = format.type; });
      default = null;
      description = "What the daemon is told to be: networks, storage, profiles.";
    };
    ui.enable = lib.mkEnableOption "Incus Web UI";
    socketActivation = lib.mkEnableOption "socket-activation for starting incus.service";
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = config.networking.firewall.enable -> config.networking.nftables.enable;
        message = "Incus on NixOS is unsupported using iptables. Set `networking.nftables.enable = true;`";
      }
    ];

    users.groups.incus-admin = { };

    systemd.services.incus = {
      description = "Incus Container and Virtual Machine Management Daemon";
      wantedBy = lib.mkIf (!cfg.socketActivation) [ "multi-user.target" ];
      after = [ "network-online.target" ];
      wants = [ "network-online.target" ];
      serviceConfig = {
        ExecStart = incusd;
        Type = "notify";
        NotifyAccess = "all";
        KillMode = "process";
        Restart = "on-failure";
        TimeoutStartSec = "600s";
      };
    };
    systemd.services.incus-preseed = lib.mkIf (cfg.preseed != null) {
      description = "Incus initialization with preseed file";
      wantedBy = [ "incus.service" ];
      after = [ "incus.service" ];
      bindsTo = [ "incus.service" ];
      partOf = [ "incus.service" ];
      script = "${incusd} preseed ${format.generate "incus-preseed.yaml" cfg.preseed}";
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
      };
    };
  };
}
