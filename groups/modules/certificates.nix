# Certificates for the sites of a machine, ordered from an authority that speaks
# ACME. Sites ask for one where this is enabled.
{ config, lib, ... }:
let
  cfg = config.slipway.certificates;
in
{
  options.slipway.certificates = {
    enable = lib.mkEnableOption "certificates for the sites of this machine, and with them HTTPS";
    email = lib.mkOption {
      type = lib.types.str;
      example = "hostmaster@example.org";
      description = "Whom the authority tells of problems. Setting it accepts the authority's terms.";
    };
    server = lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      example = "https://acme.example.org/directory";
      description = "The directory of the authority; null means the default of NixOS.";
    };
  };

  config = lib.mkIf cfg.enable {
    security.acme.acceptTerms = true;
    security.acme.defaults = {
      inherit (cfg) email;
      server = lib.mkIf (cfg.server != null) cfg.server;
    };
    networking.firewall.allowedTCPPorts = [ 443 ];
  };
}
