# From the options of a unit to its text.
{
  config,
  lib,
  pkgs,
}:
let
  show =
    value:
    if value == true then
      "true"
    else if value == false then
      "false"
    else
      toString value;
  lines =
    settings:
    lib.concatStrings (
      lib.concatLists (
        lib.mapAttrsToList (
          name: value: map (one: "${name}=${show one}\n") (lib.filter (v: v != null) (lib.toList value))
        ) settings
      )
    );
  section = name: text: lib.optionalString (text != "") "\n[${name}]\n${text}";

  triggers =
    name: values:
    lib.optionalAttrs (values != [ ]) {
      ${name} = "${pkgs.writeText name (lib.concatMapStrings (v: "${v}\n") values)}";
    };

  unit =
    def:
    let
      many = name: value: lib.optionalAttrs (value != [ ]) { ${name} = toString value; };
    in
    "[Unit]\n"
    + lines (
      lib.optionalAttrs (def.description != "") { Description = def.description; }
      // many "Documentation" def.documentation
      // many "After" def.after
      // many "Before" def.before
      // many "BindsTo" def.bindsTo
      // many "Conflicts" def.conflicts
      // many "OnFailure" def.onFailure
      // many "OnSuccess" def.onSuccess
      // many "PartOf" def.partOf
      // many "Requires" def.requires
      // many "Requisite" def.requisite
      // many "Upholds" def.upholds
      // many "Wants" def.wants
      // lib.optionalAttrs (def.startLimitBurst != null) { StartLimitBurst = def.startLimitBurst; }
      // lib.optionalAttrs (def.startLimitIntervalSec != null) {
        StartLimitIntervalSec = def.startLimitIntervalSec;
      }
      // triggers "X-Restart-Triggers" def.restartTriggers
      // triggers "X-Reload-Triggers" def.reloadTriggers
      // def.unitConfig
    );

  job =
    name: text: "${
      pkgs.writeTextFile {
        name = "unit-script-${lib.replaceStrings [ "@" ] [ "_" ] name}";
        executable = true;
        destination = "/bin/${name}";
        text = "#!${pkgs.busybox}/bin/busybox sh\nset -e\n\n${text}\n";
      }
    }/bin/${name}";

  service =
    name: def:
    let
      given = kind: text: lib.optionalAttrs (text != "") { ${kind.key} = job "${name}-${kind.suffix}" text + kind.args or ""; };
      scripts =
        given {
          key = "ExecStart";
          suffix = "start";
          args = lib.optionalString (def.scriptArgs != "") " ${def.scriptArgs}";
        } def.script
        // given {
          key = "ExecStartPre";
          suffix = "pre-start";
        } def.preStart
        // given {
          key = "ExecStartPost";
          suffix = "post-start";
        } def.postStart
        // given {
          key = "ExecReload";
          suffix = "reload";
        } def.reload
        // given {
          key = "ExecStop";
          suffix = "pre-stop";
        } def.preStop
        // given {
          key = "ExecStopPost";
          suffix = "post-stop";
        } def.postStop;
      both = lib.intersectAttrs scripts def.serviceConfig;
      environment = {
        PATH = "${lib.makeBinPath path}:${lib.makeSearchPath "sbin" path}";
      }
      // lib.filterAttrs (_: value: value != null) def.environment;
      path = def.path ++ [
        pkgs.applets
        pkgs.systemd
      ];
    in
    if both != { } then
      throw "systemd.services.${name} has both a script and serviceConfig.${lib.concatStringsSep ", " (lib.attrNames both)}."
    else
      unit def
      + section "Service" (
        lib.concatStrings (
          lib.mapAttrsToList (
            key: value:
            "Environment=${builtins.toJSON "${key}=${lib.replaceStrings [ "%" ] [ "%%" ] (toString value)}"}\n"
          ) environment
        )
        + lines (scripts // def.serviceConfig)
        + (
          if def.reloadIfChanged then
            "X-ReloadIfChanged=true\n"
          else if !def.restartIfChanged then
            "X-RestartIfChanged=false\n"
          else
            ""
        )
        + lib.optionalString (!def.stopIfChanged) "X-StopIfChanged=false\n"
        + lib.optionalString def.notSocketActivated "X-NotSocketActivated=true\n"
      );
in
{
  inherit lines section;
  target = _: unit;
  inherit service;
  socket =
    _: def:
    unit def
    + section "Socket" (
      lines (
        lib.optionalAttrs (def.listenStreams != [ ]) { ListenStream = def.listenStreams; }
        // lib.optionalAttrs (def.listenDatagrams != [ ]) { ListenDatagram = def.listenDatagrams; }
        // def.socketConfig
      )
    );
  timer = _: def: unit def + section "Timer" (lines def.timerConfig);
  path = _: def: unit def + section "Path" (lines def.pathConfig);
  mount =
    _: def:
    unit def
    + section "Mount" (
      lines (
        {
          What = def.what;
          Where = def.where;
        }
        // lib.optionalAttrs (def.type != "") { Type = def.type; }
        // lib.optionalAttrs (def.options != "") { Options = def.options; }
        // def.mountConfig
      )
    );
}
