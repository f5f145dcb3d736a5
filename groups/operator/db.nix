# The database of the forge.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/postgresql.nix
    ../modules/public-host.nix
  ];

  slipway.postgresql = {
    databases = [ "forgejo" ];
    clients = coordinates.hosting.privateNetworks or [ ];
  };
}
