# Units of the managers that run for users.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.systemd.user;
  options = import ./unit-options.nix { inherit lib; };
  texts = import ./unit-texts.nix { inherit config lib pkgs; };
  unitTree = import ./unit-tree.nix { inherit lib pkgs; };
  kinds = {
    services = "service";
    sockets = "socket";
    timers = "timer";
  };
  kind =
    declared: description:
    lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule { options = declared; });
      default = { };
      inherit description;
    };
in
{
  options.systemd.user = {
    services = kind options.service "Services of users.";
    sockets = kind options.socket "Sockets of users.";
    timers = kind options.timer "Timers of users.";
  };

  config = {
    systemd.user.timers = lib.mapAttrs (_: def: {
      wantedBy = [ "timers.target" ];
      timerConfig.OnCalendar = def.startAt;
    }) (lib.filterAttrs (_: def: def.enable && def.startAt != [ ]) cfg.services);

    environment.etc."systemd/user".source = "${
      unitTree "user-units" (
        lib.concatMapAttrs (
          plural: suffix:
          lib.mapAttrs' (
            name: def: lib.nameValuePair "${name}.${suffix}" (def // { text = texts.${suffix} name def; })
          ) cfg.${plural}
        ) kinds
      )
    }";
  };
}
