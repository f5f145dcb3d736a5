# Evaluates a NixOS system from its modules. Nothing comes from the environment:
# where the platform is not an argument, `nixpkgs.hostPlatform` must be defined.
{
  system ? null,
  pkgs ? null,
  baseModules ? import ../modules/module-list.nix,
  modules,
  extraModules ? [ ],
  modulesLocation ? (builtins.unsafeGetAttrPos "modules" evalConfigArgs).file or null,
  specialArgs ? { },
  prefix ? [ ],
  lib ? import ../../lib,
}@evalConfigArgs:
let
  arguments = {
    _file = ./eval-config.nix;
    key = toString ./eval-config.nix;
    config = lib.mkMerge [
      (lib.mkIf (system != null) { nixpkgs.hostPlatform = lib.mkDefault system; })
      (lib.mkIf (pkgs != null) { nixpkgs.pkgs = lib.mkForce pkgs; })
    ];
  };
  located =
    if modulesLocation == null then
      modules
    else
      map (lib.setDefaultModuleLocation modulesLocation) modules;
  withResult =
    evaluated:
    let
      failed = map (a: a.message) (lib.filter (a: !a.assertion) evaluated.config.assertions);
    in
    evaluated
    // {
      inherit lib;
      inherit (evaluated._module.args) pkgs;
      extendModules = extension: withResult (evaluated.extendModules extension);
    };
in
withResult (
  lib.evalModules {
    inherit prefix;
    class = "nixos";
    modules = baseModules ++ extraModules ++ [ arguments ] ++ located;
    specialArgs = {
      modulesPath = toString ../modules;
    }
    // specialArgs;
  }
)
