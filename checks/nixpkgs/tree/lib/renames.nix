# Modules that stand for options which have moved or gone.
{ lib }:
let
  inherit (lib) showFiles showOption;
in
{
  mkRenamedOptionModule =
    from: to:
    { config, options, ... }:
    let
      old = lib.getAttrFromPath from options;
    in
    {
      options = lib.setAttrByPath from (
        lib.mkOption {
          type = lib.types.unspecified;
          visible = false;
          apply = _: lib.getAttrFromPath to config;
          default = null;
          description = "Alias of `${showOption to}'.";
        }
      );
      config = lib.mkMerge [
        {
          warnings = lib.optional (
            old.highestPrio < 1500
          ) "The option `${showOption from}' defined in ${showFiles old.files} has been renamed to `${showOption to}'.";
        }
        (lib.mkIf (old.highestPrio < 1500) (
          lib.setAttrByPath to (lib.mkMerge (map (lib.mkOverride old.highestPrio) old.definitions))
        ))
      ];
    };

  mkRemovedOptionModule =
    path: instead:
    { options, ... }:
    let
      old = lib.getAttrFromPath path options;
    in
    {
      options = lib.setAttrByPath path (
        lib.mkOption {
          visible = false;
          apply = _: throw "The option `${showOption path}' can no longer be used since it's been removed. ${instead}";
          description = "Removed.";
        }
      );
      config.assertions = [
        {
          assertion = !old.isDefined;
          message = "The option definition `${showOption path}' in ${showFiles old.files} no longer has any effect; please remove it.\n${instead}";
        }
      ];
    };
}
