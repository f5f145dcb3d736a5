# The formats of configuration files: the type of a value and its file.
{ lib, pkgs }:
let
  inherit (lib.types)
    attrsOf
    bool
    either
    float
    int
    listOf
    nullOr
    oneOf
    path
    str
    ;
  tree =
    description:
    let
      value =
        nullOr (oneOf [
          bool
          int
          float
          str
          path
          (attrsOf value)
          (listOf value)
        ])
        // {
          inherit description;
        };
    in
    value;
  atom = nullOr (oneOf [
    bool
    int
    float
    str
  ]);
  atoms =
    lists:
    if lists then either atom (listOf atom) // { description = "INI atom or a list of them"; } else atom;
in
{
  json = _: {
    type = tree "JSON value";
    generate = name: value: pkgs.writeText name (builtins.toJSON value);
  };
  # Every JSON text is a YAML text.
  yaml = _: {
    type = tree "YAML value";
    generate = name: value: pkgs.writeText name (builtins.toJSON value);
  };
  ini =
    {
      listsAsDuplicateKeys ? false,
      ...
    }@settings:
    {
      type = attrsOf (attrsOf (atoms listsAsDuplicateKeys));
      generate = name: value: pkgs.writeText name (lib.generators.toINI settings value);
    };
  keyValue =
    {
      listsAsDuplicateKeys ? false,
      ...
    }@settings:
    {
      type = attrsOf (atoms listsAsDuplicateKeys);
      generate = name: value: pkgs.writeText name (lib.generators.toKeyValue settings value);
    };
}
