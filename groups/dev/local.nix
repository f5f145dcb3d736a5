# A machine to try things on: a public host with a static site.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/public-host.nix
    ../modules/static-site.nix
  ];

  slipway.staticSite = {
    domain = "${coordinates.machine}.${coordinates.domain}";
    root = ./site;
  };
}
