# Attribute sets.
{ lib }:
let
  inherit (builtins)
    attrNames
    filter
    head
    isAttrs
    listToAttrs
    mapAttrs
    tail
    zipAttrsWith
    ;
in
{
  inherit (builtins)
    attrNames
    attrValues
    catAttrs
    intersectAttrs
    listToAttrs
    mapAttrs
    removeAttrs
    zipAttrsWith
    ;

  nameValuePair = name: value: { inherit name value; };
  optionalAttrs = condition: set: if condition then set else { };
  isDerivation = value: value.type or null == "derivation";

  mapAttrs' = f: set: listToAttrs (lib.mapAttrsToList f set);
  mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
  concatMapAttrs = f: set: lib.mergeAttrsList (lib.mapAttrsToList f set);
  mergeAttrsList = builtins.foldl' (a: b: a // b) { };
  attrsToList = lib.mapAttrsToList lib.nameValuePair;
  filterAttrs = f: set: removeAttrs set (filter (name: !f name set.${name}) (attrNames set));
  genAttrs = names: f: listToAttrs (map (name: lib.nameValuePair name (f name)) names);
  foldlAttrs =
    f: start: set:
    builtins.foldl' (acc: name: f acc name set.${name}) start (attrNames set);
  getAttrs = names: set: lib.genAttrs names (name: set.${name});

  hasAttrByPath =
    path: set:
    path == [ ] || (isAttrs set && set ? ${head path} && lib.hasAttrByPath (tail path) set.${head path});
  attrByPath =
    path: otherwise: set:
    if path == [ ] then
      set
    else if isAttrs set && set ? ${head path} then
      lib.attrByPath (tail path) otherwise set.${head path}
    else
      otherwise;
  getAttrFromPath =
    path: lib.attrByPath path (throw "cannot find attribute `${lib.concatStringsSep "." path}'");
  setAttrByPath =
    path: value:
    if path == [ ] then value else { ${head path} = lib.setAttrByPath (tail path) value; };

  # Sets are merged to the bottom; where anything else meets, the right wins.
  recursiveUpdate =
    left: right:
    zipAttrsWith
      (
        _: values:
        if tail values == [ ] then
          head values
        else if isAttrs (head values) && isAttrs (lib.last values) then
          lib.recursiveUpdate (head values) (lib.last values)
        else
          lib.last values
      )
      [
        left
        right
      ];
  mapAttrsRecursive =
    let
      go =
        path: f:
        mapAttrs (
          name: value: if isAttrs value then go (path ++ [ name ]) f value else f (path ++ [ name ]) value
        );
    in
    go [ ];
  collect =
    f: value:
    if f value then
      [ value ]
    else if isAttrs value then
      builtins.concatMap (lib.collect f) (builtins.attrValues value)
    else
      [ ];

  getBin = lib.getOutput "bin";
  getLib = lib.getOutput "lib";
  getOutput = output: package: package.${output} or package.out or package;
}
