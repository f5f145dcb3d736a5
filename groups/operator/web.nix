# The operator's web site.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/public-host.nix
    ../modules/static-site.nix
  ];

  slipway.staticSite = {
    domain = "www.${coordinates.domain}";
    aliases = [ coordinates.domain ];
    root = ./site;
  };
}
