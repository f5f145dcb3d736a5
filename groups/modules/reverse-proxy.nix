# Sites that other machines, or other services of this one, answer for.
{ config, lib, ... }:
let
  cfg = config.slipway.reverseProxy;
  secured = config.slipway.certificates.enable;
in
{
  imports = [ ./web-server.nix ];

  options.slipway.reverseProxy.sites = lib.mkOption {
    type = lib.types.attrsOf (
      lib.types.submodule {
        options = {
          upstream = lib.mkOption {
            type = lib.types.strMatching "https?://[^/]+";
            example = "http://10.0.0.5:8080";
            description = "Where requests go on to: scheme, host and port.";
          };
          websockets = lib.mkOption {
            type = lib.types.bool;
            default = false;
            description = "Whether connections may be upgraded to WebSockets.";
          };
        };
      }
    );
    default = { };
    description = "Where the requests for a name go on to.";
  };

  config.services.nginx.virtualHosts =
    lib.mapAttrs (_: site: {
      enableACME = secured;
      forceSSL = secured;
      locations."/" = {
        proxyPass = site.upstream;
        proxyWebsockets = site.websockets;
      };
    }) cfg.sites
    // {
      # A name that nobody asked for is none of the sites.
      "_" = {
        # A static site on the same machine is the default already.
        default = lib.mkDefault (!(config.slipway ? staticSite));
        locations."/".return = "404";
      };
    };
}
