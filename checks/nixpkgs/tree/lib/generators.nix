# Texts of configuration files.
{ lib }:
let
  scalar =
    value:
    if value == true then
      "true"
    else if value == false then
      "false"
    else if value == null then
      "null"
    else
      toString value;
in
rec {
  mkValueStringDefault = _: scalar;

  mkKeyValueDefault =
    {
      mkValueString ? scalar,
    }:
    separator: key: value:
    "${lib.escape [ separator ] key}${separator}${mkValueString value}";

  toKeyValue =
    {
      mkKeyValue ? mkKeyValueDefault { } "=",
      listsAsDuplicateKeys ? false,
      indent ? "",
    }:
    set:
    lib.concatStrings (
      lib.concatLists (
        lib.mapAttrsToList (
          key: value:
          map (one: "${indent}${mkKeyValue key one}\n") (
            if listsAsDuplicateKeys && builtins.isList value then value else [ value ]
          )
        ) set
      )
    );

  toINI =
    {
      mkSectionName ?
        name:
        lib.escape [
          "["
          "]"
        ] name,
      mkKeyValue ? mkKeyValueDefault { } "=",
      listsAsDuplicateKeys ? false,
    }:
    sections:
    lib.concatStringsSep "\n" (
      lib.mapAttrsToList (
        name: values: "[${mkSectionName name}]\n${toKeyValue { inherit mkKeyValue listsAsDuplicateKeys; } values}"
      ) sections
    );

  toINIWithGlobalSection =
    settings:
    {
      globalSection,
      sections ? { },
    }:
    (
      if globalSection == { } then
        ""
      else
        toKeyValue {
          mkKeyValue = settings.mkKeyValue or (mkKeyValueDefault { } "=");
        } globalSection
        + "\n"
    )
    + toINI settings sections;

  toJSON = _: builtins.toJSON;

  # A value as a person would write it, cut at a depth that fits an error.
  toPretty =
    _:
    let
      go =
        depth: value:
        if lib.isFunction value then
          "<function>"
        else if builtins.isString value then
          builtins.toJSON value
        else if builtins.isPath value then
          toString value
        else if builtins.isList value then
          if value == [ ] then "[ ]" else "[ ${lib.concatMapStringsSep " " (go (depth + 1)) value} ]"
        else if lib.isDerivation value then
          "<derivation ${value.name or "?"}>"
        else if builtins.isAttrs value then
          if value == { } then
            "{ }"
          else if depth > 2 then
            "{ … }"
          else
            "{ ${lib.concatMapStringsSep " " (name: "${name} = ${go (depth + 1) value.${name}};") (builtins.attrNames value)} }"
        else
          scalar value;
    in
    go 0;
}
