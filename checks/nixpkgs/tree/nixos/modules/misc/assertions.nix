{ lib, ... }:
{
  options = {
    assertions = lib.mkOption {
      type = lib.types.listOf lib.types.unspecified;
      default = [ ];
      description = "What must hold: `assertion`, and the `message` for when it does not.";
    };
    warnings = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "What is printed when the system is evaluated.";
    };
    meta = lib.mkOption {
      type = lib.types.attrsOf lib.types.raw;
      default = { };
      internal = true;
      description = "Facts about modules.";
    };
  };
}
