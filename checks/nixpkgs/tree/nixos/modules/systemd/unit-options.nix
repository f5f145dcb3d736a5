# The options of units, by kind.
{ lib }:
let
  inherit (lib.types)
    attrsOf
    bool
    either
    int
    lines
    listOf
    nullOr
    oneOf
    package
    path
    str
    ;

  # One value, or several that add up.
  unitOption = lib.types.mkOptionType {
    name = "systemd option";
    description = "systemd option";
    check =
      value:
      lib.all (v: v == null || lib.isBool v || lib.isInt v || lib.isStringLike v) (lib.toList value);
    merge =
      loc: defs:
      if lib.any (def: lib.isList def.value) defs then
        lib.concatMap (def: lib.toList def.value) defs
      else
        (lib.types.uniq lib.types.anything // { inherit (lib.types.str) merge; }).merge loc defs;
  };
  section =
    description:
    lib.mkOption {
      type = attrsOf unitOption;
      default = { };
      inherit description;
    };
  units =
    description:
    lib.mkOption {
      type = listOf str;
      default = [ ];
      inherit description;
    };
  flag =
    default: description:
    lib.mkOption {
      type = bool;
      inherit default description;
    };
  script =
    description:
    lib.mkOption {
      type = lines;
      default = "";
      inherit description;
    };
  triggers =
    description:
    lib.mkOption {
      type = listOf (oneOf [
        package
        str
        path
      ]);
      default = [ ];
      inherit description;
    };
in
rec {
  inherit unitOption;

  installed = {
    enable = flag true "Whether the unit exists; otherwise it is masked.";
    wantedBy = units "Units that want this one.";
    requiredBy = units "Units that require this one.";
    aliases = units "Other names.";
  };

  common = installed // {
    description = lib.mkOption {
      type = lib.types.singleLineStr;
      default = "";
      description = "What the unit is.";
    };
    documentation = units "Where to read about it.";
    after = units "Units that start before this one.";
    before = units "Units that start after this one.";
    bindsTo = units "Units without which this one stops.";
    conflicts = units "Units that stop when this one starts.";
    onFailure = units "Units that start when this one fails.";
    onSuccess = units "Units that start when this one ends well.";
    partOf = units "Units that this one stops and restarts with.";
    requires = units "Units that this one needs.";
    requisite = units "Units that must be active already.";
    upholds = units "Units that are kept active.";
    wants = units "Units that start with this one.";
    startLimitBurst = lib.mkOption {
      type = nullOr int;
      default = null;
      description = "How many starts there may be in the interval.";
    };
    startLimitIntervalSec = lib.mkOption {
      type = nullOr int;
      default = null;
      description = "The interval in which starts are counted, in seconds.";
    };
    unitConfig = section "Settings of the section [Unit].";
    restartTriggers = triggers "Values whose change restarts the unit.";
    reloadTriggers = triggers "Values whose change reloads the unit.";
    overrideStrategy = lib.mkOption {
      type = lib.types.enum [
        "asDropinIfExists"
        "asDropin"
      ];
      default = "asDropinIfExists";
      description = "How the unit meets one of its name from a package.";
    };
  };

  service = common // {
    serviceConfig = section "Settings of the section [Service].";
    environment = lib.mkOption {
      type = attrsOf (
        nullOr (oneOf [
          str
          path
          package
        ])
      );
      default = { };
      description = "Variables of the processes.";
    };
    path = lib.mkOption {
      type = listOf (oneOf [
        package
        str
      ]);
      default = [ ];
      description = "Packages whose programs are on the PATH.";
    };
    script = script "The main process.";
    scriptArgs = lib.mkOption {
      type = str;
      default = "";
      description = "Arguments of the main process.";
    };
    preStart = script "What runs before the main process.";
    postStart = script "What runs when the main process has started.";
    preStop = script "What stops the service.";
    postStop = script "What runs when the service has stopped.";
    reload = script "What reloads the service.";
    restartIfChanged = flag true "Whether a changed unit is restarted by a switch.";
    reloadIfChanged = flag false "Whether a changed unit is reloaded by a switch.";
    stopIfChanged = flag true "Whether a changed unit stops before activation and starts after it.";
    notSocketActivated = flag false "Whether a changed unit is restarted although it has a socket.";
    startAt = lib.mkOption {
      type = either str (listOf str);
      default = [ ];
      apply = lib.toList;
      description = "When a timer starts the service.";
    };
  };

  socket = common // {
    listenStreams = units "Stream sockets that are listened on.";
    listenDatagrams = units "Datagram sockets that are listened on.";
    socketConfig = section "Settings of the section [Socket].";
  };
  timer = common // {
    timerConfig = section "Settings of the section [Timer].";
  };
  pathUnit = common // {
    pathConfig = section "Settings of the section [Path].";
  };
  mount = common // {
    what = lib.mkOption {
      type = str;
      description = "What is mounted.";
    };
    where = lib.mkOption {
      type = str;
      description = "Where it is mounted.";
    };
    type = lib.mkOption {
      type = str;
      default = "";
      description = "The type of the file system.";
    };
    options = lib.mkOption {
      type = str;
      default = "";
      description = "Mount options.";
    };
    mountConfig = section "Settings of the section [Mount].";
  };
}
