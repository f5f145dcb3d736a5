# A shell with the verbs of a deployment as commands: apply, plan and so on.
{ pkgs, slipway }:
name: siblings:
let
  first = (builtins.head siblings).name;
  command = name: line: pkgs.writeShellScriptBin name ''exec ${slipway}/bin/slipway ${line}'';
  verbs = map (p: command p.verb ''${p.name} "$@"'') siblings;
  # OpenTofu's commands that only tell, for what keeps a state by it.
  tofu = pkgs.lib.optional (builtins.any (p: p.verb == "state-list") siblings) (command "tofu" ''tofu ${first} "$@"'');
in
pkgs.mkShellNoCC {
  inherit name;
  packages = [ slipway (command "coordinates" "help ${first}") ] ++ verbs ++ tofu;
  # What the first of them reads, what of it is set, and what is missing.
  shellHook = ''
    slipway help ${first} >&2
  '';
}
