{
  config,
  lib,
  options,
  ...
}:
let
  cfg = config.nixpkgs;
in
{
  options.nixpkgs = {
    pkgs = lib.mkOption {
      type = lib.types.raw;
      description = "The packages of this system.";
    };
    config = lib.mkOption {
      type = lib.types.attrsOf lib.types.anything;
      default = { };
      description = "The configuration of the packages.";
    };
    overlays = lib.mkOption {
      type = lib.types.listOf lib.types.raw;
      default = [ ];
      description = "Functions that change the packages.";
    };
    hostPlatform = lib.mkOption {
      type = lib.types.either lib.types.str lib.types.attrs;
      apply = platform: if builtins.isString platform then { system = platform; } else platform;
      description = "The platform that the system runs on.";
    };
    buildPlatform = lib.mkOption {
      type = lib.types.either lib.types.str lib.types.attrs;
      default = cfg.hostPlatform;
      description = "The platform that the system is built on.";
    };
  };

  config = {
    _module.args.pkgs =
      if options.nixpkgs.pkgs.isDefined then
        cfg.pkgs
      else
        import ../../.. {
          inherit (cfg.hostPlatform) system;
          inherit (cfg) config overlays;
        };
  };
}
