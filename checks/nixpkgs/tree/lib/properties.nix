# What may wrap a definition: conditions, merges, priorities and orders.
{ lib }:
rec {
  mkIf = condition: content: {
    _type = "if";
    inherit condition content;
  };
  mkMerge = contents: {
    _type = "merge";
    inherit contents;
  };
  mkAssert =
    condition: message: content:
    mkIf (condition || throw "\nFailed assertion: ${message}") content;

  # The lowest number wins.
  mkOverride = priority: content: {
    _type = "override";
    inherit priority content;
  };
  mkOptionDefault = mkOverride 1500;
  mkDefault = mkOverride 1000;
  defaultOverridePriority = 100;
  mkImageMediaOverride = mkOverride 60;
  mkForce = mkOverride 50;
  mkVMOverride = mkOverride 10;

  # The lowest number comes first.
  mkOrder = priority: content: {
    _type = "order";
    inherit priority content;
  };
  mkBefore = mkOrder 500;
  defaultOrderPriority = 1000;
  mkAfter = mkOrder 1500;

  # The sets of definitions that a definition of a set stands for.
  pushDown =
    value:
    let
      type = value._type or "";
    in
    if type == "merge" then
      lib.concatMap pushDown value.contents
    else if type == "if" then
      map (lib.mapAttrs (_: mkIf value.condition)) (pushDown value.content)
    else if type == "override" then
      map (lib.mapAttrs (_: mkOverride value.priority)) (pushDown value.content)
    else
      [ value ];

  # The definitions that remain of one when its conditions are known.
  discharge =
    value:
    let
      type = value._type or "";
    in
    if type == "merge" then
      lib.concatMap discharge value.contents
    else if type == "if" then
      if builtins.isBool value.condition then
        lib.optionals value.condition (discharge value.content)
      else
        throw "mkIf called with a non-Boolean condition"
    else
      [ value ];

  # Of { file, value } definitions, those with the best priority.
  filterOverrides =
    defs:
    let
      priority = def: if def.value._type or "" == "override" then def.value.priority else defaultOverridePriority;
      best = builtins.foldl' (least: def: lib.min least (priority def)) 9999 defs;
      strip =
        def: if def.value._type or "" == "override" then def // { value = def.value.content; } else def;
    in
    {
      values = map strip (lib.filter (def: priority def == best) defs);
      highestPrio = best;
    };

  sortProperties =
    defs:
    let
      strip =
        def:
        if def.value._type or "" == "order" then
          def
          // {
            value = def.value.content;
            inherit (def.value) priority;
          }
        else
          def;
      priority = def: def.priority or defaultOrderPriority;
    in
    if lib.any (def: def.value._type or "" == "order") defs then
      builtins.sort (a: b: priority a < priority b) (map strip defs)
    else
      defs;
}
