# A shell with the verbs of a deployment as commands: apply, plan and so on.
{ pkgs, slipway }:
name: siblings:
let
  verbs = map (p: pkgs.writeShellScriptBin p.verb ''exec ${slipway}/bin/slipway ${p.name} "$@"'') siblings;
in
pkgs.mkShellNoCC {
  inherit name;
  packages = [ slipway ] ++ verbs;
  # What the first of them reads, what of it is set, and what is missing.
  shellHook = ''
    slipway help ${(builtins.head siblings).name} >&2
  '';
}
