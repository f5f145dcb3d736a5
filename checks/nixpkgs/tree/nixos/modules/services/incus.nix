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
    clientPackage = lib.mkOption {
      type = lib.types.package;
      default = cfg.package.client;
      description = "The program that tells the daemon what to do.";
    };
    preseed = lib.mkOption {
      type = lib.types.nullOr (lib.types.submodule { freeformType = format.type; });
      default = null;
      description = "What the daemon is told to be: networks, storage, profiles.";
    };
    startTimeout = lib.mkOption {
      type = lib.types.ints.unsigned;
      default = 600;
      apply = toString;
      description = "Seconds that the daemon may take until it can be asked.";
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
    environment.systemPackages = [ cfg.clientPackage ];

    systemd.services.incus = {
      description = "Incus Container and Virtual Machine Management Daemon";
      wantedBy = lib.mkIf (!cfg.socketActivation) [ "multi-user.target" ];
      after = [ "network-online.target" ];
      wants = [ "network-online.target" ];
      serviceConfig = {
        ExecStart = "${incusd} --group incus-admin";
        ExecStartPost = "${incusd} waitready --timeout=${cfg.startTimeout}";
        KillMode = "process"; # instances stay
        Delegate = "yes";
        Restart = "on-failure";
        TimeoutStartSec = "${cfg.startTimeout}s";
      };
    };
    systemd.services.incus-preseed = lib.mkIf (cfg.preseed != null) {
      description = "Incus initialization with preseed file";
      wantedBy = [ "incus.service" ];
      after = [ "incus.service" ];
      bindsTo = [ "incus.service" ];
      partOf = [ "incus.service" ];
      script = "${lib.getExe cfg.clientPackage} admin init --preseed <${format.generate "incus-preseed.yaml" cfg.preseed}";
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
      };
    };
  };
}
