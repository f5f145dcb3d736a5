# Strings.
{ lib }:
let
  inherit (builtins)
    concatStringsSep
    filter
    isString
    match
    replaceStrings
    split
    stringLength
    substring
    ;
  lower = "abcdefghijklmnopqrstuvwxyz";
  upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  letters = text: lib.stringToCharacters text;
in
{
  inherit (builtins)
    concatStringsSep
    match
    replaceStrings
    split
    stringLength
    substring
    unsafeDiscardStringContext
    ;

  concatStrings = concatStringsSep "";
  concatLines = lines: lib.concatMapStrings (line: line + "\n") lines;
  concatMapStrings = f: list: lib.concatStrings (map f list);
  concatMapStringsSep =
    separator: f: list:
    concatStringsSep separator (map f list);
  concatImapStringsSep =
    separator: f: list:
    concatStringsSep separator (lib.imap1 f list);
  concatMapAttrsStringSep =
    separator: f: set:
    concatStringsSep separator (lib.mapAttrsToList f set);
  optionalString = condition: text: if condition then text else "";
  stringToCharacters = text: builtins.genList (n: substring n 1 text) (stringLength text);
  splitString =
    separator: text: filter isString (split (lib.escapeRegex (toString separator)) (toString text));
  join = concatStringsSep;

  hasPrefix = prefix: text: substring 0 (stringLength prefix) text == prefix;
  hasSuffix =
    suffix: text:
    let
      start = stringLength text - stringLength suffix;
    in
    start >= 0 && substring start (-1) text == suffix;
  hasInfix = infix: text: match ".*${lib.escapeRegex infix}.*" "${text}" != null;
  removePrefix =
    prefix: text:
    if lib.hasPrefix prefix text then substring (stringLength prefix) (-1) text else text;
  removeSuffix =
    suffix: text:
    if lib.hasSuffix suffix text then
      substring 0 (stringLength text - stringLength suffix) text
    else
      text;
  trim =
    text:
    let
      found = match "[[:space:]]*(.*[^[:space:]])[[:space:]]*" text;
    in
    if found == null then "" else builtins.head found;
  toLower = replaceStrings (letters upper) (letters lower);
  toUpper = replaceStrings (letters lower) (letters upper);
  fixedWidthString =
    width: filler: text:
    if stringLength text >= width then text else lib.fixedWidthString width filler (filler + text);
  toInt =
    text:
    let
      value = builtins.fromJSON text;
    in
    if match "-?[0-9]+" text != null && builtins.isInt value then
      value
    else
      throw "cannot read ${builtins.toJSON text} as an integer";

  escape = chars: replaceStrings chars (map (c: "\\${c}") chars);
  escapeRegex = lib.escape (letters "\\[{()^$?*+|.");
  escapeShellArg =
    value:
    let
      text = toString value;
    in
    if match "[[:alnum:],._+:@%/-]+" text != null then
      text
    else
      "'${replaceStrings [ "'" ] [ "'\\''" ] text}'";
  escapeShellArgs = lib.concatMapStringsSep " " lib.escapeShellArg;

  isStringLike = value: isString value || builtins.isPath value || value ? outPath || value ? __toString;
  sanitizeDerivationName =
    text:
    let
      clean = lib.concatMapStrings (part: if isString part then part else "-") (
        split "[^[:alnum:]+._?=-]+" (builtins.unsafeDiscardStringContext text)
      );
    in
    if lib.hasPrefix "." clean then "_${clean}" else clean;
  fileContents = file: lib.removeSuffix "\n" (builtins.readFile file);
  makeSearchPath =
    sub: paths: lib.concatMapStringsSep ":" (path: "${path}/${sub}") (filter (path: path != null) paths);
  makeBinPath = lib.makeSearchPath "bin";

  # How many single edits make one text the other.
  levenshtein =
    a: b:
    let
      columns = lib.stringToCharacters b;
      step =
        row: char:
        builtins.foldl' (
          next: n:
          next
          ++ [
            (lib.min (lib.min (builtins.elemAt row (n + 1) + 1) (builtins.elemAt next n + 1)) (
              builtins.elemAt row n + (if builtins.elemAt columns n == char then 0 else 1)
            ))
          ]
        ) [ (builtins.head row + 1) ] (lib.range 0 (builtins.length columns - 1));
    in
    lib.last (
      builtins.foldl' step (lib.range 0 (builtins.length columns)) (lib.stringToCharacters a)
    );
}
