# The way in: requests from outside go on to the provider's machines. Which
# names lead where is a fact of the provider.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/public-host.nix
    ../modules/reverse-proxy.nix
  ];

  slipway.reverseProxy.sites = builtins.mapAttrs (_: upstream: {
    inherit upstream;
  }) (coordinates.hosting.sites or { });
}
