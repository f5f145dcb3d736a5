# Values, warnings and versions.
{ lib }:
{
  inherit (builtins)
    add
    compareVersions
    deepSeq
    fromJSON
    functionArgs
    getAttr
    hasAttr
    isAttrs
    isBool
    isFloat
    isInt
    isList
    isNull
    isPath
    isString
    lessThan
    mul
    pathExists
    readFile
    seq
    sub
    toJSON
    tryEval
    typeOf
    ;

  id = x: x;
  const = x: _: x;
  flip =
    f: a: b:
    f b a;
  pipe = builtins.foldl' (value: f: f value);
  fix =
    f:
    let
      x = f x;
    in
    x;
  min = a: b: if a < b then a else b;
  max = a: b: if a > b then a else b;
  mod = a: b: a - b * (a / b);
  boolToString = b: if b then "true" else "false";
  isFunction = f: builtins.isFunction f || (builtins.isAttrs f && f ? __functor);
  importJSON = path: builtins.fromJSON (builtins.readFile path);

  versionOlder = a: b: builtins.compareVersions b a > 0;
  versionAtLeast = a: b: builtins.compareVersions a b >= 0;

  warn = text: builtins.trace "evaluation warning: ${text}";
  warnIf = condition: text: if condition then lib.warn text else lib.id;
  throwIf = condition: text: if condition then throw text else lib.id;
  throwIfNot = condition: lib.throwIf (!condition);
  assertMsg = condition: text: condition || throw text;
}
