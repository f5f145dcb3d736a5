# The types of single values, and what all types are made of.
{ lib }:
let
  inherit (builtins)
    head
    isAttrs
    isBool
    isFloat
    isInt
    isList
    isString
    length
    ;
  inherit (lib) showDefs showOption;

  mkOptionType =
    {
      name,
      description ? name,
      check ? _: true,
      merge ? mergeDefault,
      ...
    }@type:
    type
    // {
      _type = "option-type";
      inherit
        name
        description
        check
        merge
        ;
    };

  conflict =
    loc: defs:
    throw "The option `${showOption loc}' has conflicting definition values:${showDefs defs}\nUse `lib.mkForce value` or `lib.mkDefault value` to change the priority on any of these definitions.";

  mergeEqual =
    loc: defs:
    builtins.foldl' (
      value: def: if def.value == value then value else conflict loc defs
    ) (head defs).value (builtins.tail defs);

  mergeOne =
    loc: defs:
    if length defs == 1 then
      (head defs).value
    else
      throw "The option `${showOption loc}' is defined multiple times while it's expected to be unique.${showDefs defs}";

  # What a value of no particular type does: sets and lists add up, true wins.
  mergeDefault =
    loc: defs:
    let
      values = map (def: def.value) defs;
    in
    if length values == 1 then
      head values
    else if lib.all lib.isFunction values then
      x: mergeDefault loc (map (def: def // { value = def.value x; }) defs)
    else if lib.all isList values then
      lib.concatLists values
    else if lib.all isAttrs values then
      lib.mergeAttrsList values
    else if lib.all isBool values then
      lib.any lib.id values
    else if lib.all isString values then
      lib.concatStrings values
    else if lib.all isInt values && lib.all (value: value == head values) values then
      head values
    else
      conflict loc defs;

  equal =
    name: description: check:
    mkOptionType {
      inherit name description check;
      merge = mergeEqual;
    };

  between =
    low: high:
    equal "intBetween" "integer between ${toString low} and ${toString high} (both inclusive)" (
      value: isInt value && value >= low && value <= high
    );
  sized =
    bits: name: low: high:
    equal "${name}${toString bits}"
      "${toString bits} bit ${
        if low < 0 then "" else "un"
      }signed integer; between ${toString low} and ${toString high} (both inclusive)"
      (value: isInt value && value >= low && value <= high);

  separatedString =
    separator:
    mkOptionType {
      name = "separatedString";
      description = "strings concatenated with ${builtins.toJSON separator}";
      check = isString;
      merge = _: defs: lib.concatMapStringsSep separator (def: def.value) defs;
    };

  str = equal "str" "string" isString;
  strMatching =
    pattern:
    equal "strMatching" "string matching the pattern ${pattern}" (
      value: isString value && builtins.match pattern value != null
    );

  raw = mkOptionType {
    name = "raw";
    description = "raw value";
    merge = mergeOne;
  };
in
{
  inherit
    mkOptionType
    raw
    separatedString
    str
    strMatching
    ;
  isOptionType = value: value._type or "" == "option-type";

  unspecified = mkOptionType {
    name = "unspecified";
    description = "unspecified value";
  };
  optionType = raw // {
    name = "optionType";
    check = value: value._type or "" == "option-type";
  };

  bool = equal "bool" "boolean" isBool;
  boolByOr = lib.types.bool // {
    name = "boolByOr";
    description = "boolean (merged using or)";
    merge = _: lib.any (def: def.value);
  };
  int = equal "int" "signed integer" isInt;
  float = equal "float" "floating point number" isFloat;
  number = equal "number" "signed integer or floating point number" (
    value: isInt value || isFloat value
  );
  ints = {
    inherit between;
    unsigned = equal "unsignedInt" "unsigned integer, meaning >=0" (value: isInt value && value >= 0);
    positive = equal "positiveInt" "positive integer, meaning >0" (value: isInt value && value > 0);
    u8 = sized 8 "unsignedInt" 0 255;
    u16 = sized 16 "unsignedInt" 0 65535;
    u32 = sized 32 "unsignedInt" 0 4294967295;
    s8 = sized 8 "signedInt" (-128) 127;
    s16 = sized 16 "signedInt" (-32768) 32767;
    s32 = sized 32 "signedInt" (-2147483648) 2147483647;
  };
  port = lib.types.ints.u16;

  nonEmptyStr = equal "nonEmptyStr" "non-empty string" (
    value: isString value && builtins.match "[ \t\n]*" value == null
  );
  singleLineStr = equal "singleLineStr" "(optionally newline-terminated) single-line string" (
    value: isString value && builtins.match "[^\n\r]*\n?" value != null
  ) // {
    merge = loc: defs: lib.removeSuffix "\n" (mergeEqual loc defs);
  };
  lines = separatedString "\n";
  commas = separatedString ",";
  envVar = separatedString ":";
  passwdEntry =
    entry:
    equal "passwdEntry ${entry.name}" "${entry.description}, not containing newlines or colons" (
      value: entry.check value && builtins.match "[^:\n]*" value != null
    );

  path = equal "path" "absolute path" (
    value: lib.isStringLike value && lib.hasPrefix "/" (toString value)
  );
  pathInStore = equal "pathInStore" "path in the Nix store" (
    value: lib.isStringLike value && lib.hasPrefix "${builtins.storeDir}/" (toString value)
  );
  package = mkOptionType {
    name = "package";
    description = "package";
    check =
      value:
      lib.isDerivation value
      || (lib.isStringLike value && lib.hasPrefix "${builtins.storeDir}/" "${toString value}");
    merge = mergeOne;
  };

  enum =
    values:
    equal "enum" "one of ${lib.concatMapStringsSep ", " builtins.toJSON values}" (
      value: lib.elem value values
    );

  # Sets and lists are merged to the bottom, equal scalars are one.
  anything = mkOptionType {
    name = "anything";
    description = "anything";
    merge =
      loc: defs:
      let
        values = map (def: def.value) defs;
      in
      if length defs == 1 && !isAttrs (head values) then
        head values
      else if lib.all (value: isAttrs value && !lib.isDerivation value) values then
        (lib.types.lazyAttrsOf lib.types.anything).merge loc defs
      else if lib.all isList values then
        mergeOne loc defs
      else if lib.all lib.isFunction values then
        mergeOne loc defs
      else
        mergeEqual loc defs;
  };
}
