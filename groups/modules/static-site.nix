# A site of files.
{ config, lib, ... }:
let
  cfg = config.slipway.staticSite;
  secured = config.slipway.certificates.enable;
in
{
  imports = [ ./web-server.nix ];

  options.slipway.staticSite = {
    domain = lib.mkOption {
      type = lib.types.str;
      example = "www.example.org";
      description = "The name that the site is found under.";
    };
    aliases = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      example = [ "example.org" ];
      description = "More names of the site.";
    };
    root = lib.mkOption {
      type = lib.types.path;
      example = lib.literalExpression "./site";
      description = "The directory of the files; a path beside the module becomes part of the system.";
    };
  };

  config.services.nginx.virtualHosts.${cfg.domain} = {
    serverAliases = cfg.aliases;
    root = "${cfg.root}";
    default = lib.mkDefault true;
    enableACME = secured;
    forceSSL = secured;
  };
}
