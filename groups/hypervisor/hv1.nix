# A host that runs containers and virtual machines of others. Whose they are is a
# fact of the provider.
{ coordinates, lib, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/incus-host.nix
    ../modules/public-host.nix
  ];

  slipway.incusHost = {
    administrators = coordinates.hosting.incusAdministrators or [ ];
    projects = coordinates.hosting.incusProjects or { };
    address = lib.mkIf (coordinates.hosting ? incusNetwork) coordinates.hosting.incusNetwork;
  };
}
