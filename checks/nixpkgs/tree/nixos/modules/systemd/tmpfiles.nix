{
  config,
  lib,
  pkgs,
  ...
}:
let
  file = "/etc/tmpfiles.d/00-nixos.conf";
in
{
  options.systemd.tmpfiles.rules = lib.mkOption {
    type = lib.types.listOf lib.types.str;
    default = [ ];
    example = [ "d /var/lib/example 0755 root root -" ];
    description = "Rules for files and directories that are made, changed and removed.";
  };

  config = {
    environment.etc."tmpfiles.d/00-nixos.conf".text = lib.concatLines config.systemd.tmpfiles.rules;

    # A switch restarts the target, and with it this.
    systemd.services.systemd-tmpfiles-resetup = {
      description = "Re-setup tmpfiles on a system that is already running.";
      requiredBy = [ "sysinit-reactivation.target" ];
      before = [ "sysinit-reactivation.target" ];
      after = [ "local-fs.target" ];
      restartTriggers = [ config.environment.etc."tmpfiles.d/00-nixos.conf".source ];
      unitConfig = {
        DefaultDependencies = false;
        PartOf = "sysinit-reactivation.target";
      };
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
        ExecStart = "${pkgs.systemd}/bin/systemd-tmpfiles --create --remove ${file}";
        SuccessExitStatus = "DATAERR CANTCREAT";
      };
    };
  };
}
