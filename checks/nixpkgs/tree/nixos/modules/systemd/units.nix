{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.systemd;
  options = import ./unit-options.nix { inherit lib; };
  texts = import ./unit-texts.nix { inherit config lib pkgs; };
  unitTree = import ./unit-tree.nix { inherit lib pkgs; };

  kind =
    declared: description:
    lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule { options = declared; });
      default = { };
      inherit description;
    };
  installed = def: {
    inherit (def)
      aliases
      enable
      requiredBy
      wantedBy
      ;
  };
  ofKind =
    suffix: defs:
    lib.mapAttrs' (
      name: def:
      lib.nameValuePair "${name}.${suffix}" (installed def // { text = texts.${suffix} name def; })
    ) defs;
  # A mount is named by where it is.
  ofMounts = lib.listToAttrs (
    map (
      def:
      let
        parts = lib.filter (part: part != "") (lib.splitString "/" def.where);
        name = lib.concatMapStringsSep "-" (lib.replaceStrings [ "-" ] [ "\\x2d" ]) parts;
      in
      lib.nameValuePair "${if parts == [ ] then "-" else name}.mount" (
        installed def // { text = texts.mount name def; }
      )
    ) cfg.mounts
  );
in
{
  options.systemd = {
    units = lib.mkOption {
      type = lib.types.attrsOf (
        lib.types.submodule {
          options = options.installed // {
            text = lib.mkOption {
              type = lib.types.nullOr lib.types.str;
              default = null;
              description = "The text of the unit.";
            };
          };
        }
      );
      default = { };
      description = "Units by their full names.";
    };
    services = kind options.service "Services.";
    sockets = kind options.socket "Sockets.";
    targets = kind options.common "Targets.";
    timers = kind options.timer "Timers.";
    paths = kind options.pathUnit "Path units.";
    mounts = lib.mkOption {
      type = lib.types.listOf (lib.types.submodule { options = options.mount; });
      default = [ ];
      description = "Mounts.";
    };
  };

  config = {
    systemd.timers = lib.mapAttrs (_: def: {
      wantedBy = [ "timers.target" ];
      timerConfig.OnCalendar = def.startAt;
    }) (lib.filterAttrs (_: def: def.enable && def.startAt != [ ]) cfg.services);

    systemd.targets.sysinit-reactivation = {
      description = "Reactivate sysinit units";
    };

    systemd.units =
      ofKind "service" cfg.services
      // ofKind "socket" cfg.sockets
      // ofKind "target" cfg.targets
      // ofKind "timer" cfg.timers
      // ofKind "path" cfg.paths
      // ofMounts;

    system.build.units = unitTree "system-units" cfg.units;
    environment.etc."systemd/system".source = "${config.system.build.units}";
  };
}
