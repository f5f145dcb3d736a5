# All units of one manager as one store path. Their texts come as files, since
# they may be longer than an environment allows.
{ lib, pkgs }:
name: units:
let
  names = lib.attrNames units;
  variables = lib.listToAttrs (
    lib.imap0 (n: unit: lib.nameValuePair "unit${toString n}" units.${unit}.text) names
  );
  line =
    unit:
    let
      u = units.${unit};
      links = dir: by: lib.concatMapStrings (other: " ${other}.${dir}/${unit}") by;
    in
    "${unit} ${if u.enable then "file" else "mask"}${links "wants" u.wantedBy}${links "requires" u.requiredBy}${
      lib.concatMapStrings (alias: " ${alias}") u.aliases
    }\n";
in
pkgs.runCommand name (
  variables
  // {
    passAsFile = lib.attrNames variables;
    names = lib.concatMapStrings line names;
  }
) (builtins.readFile ./units-build.sh)
