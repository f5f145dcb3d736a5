# What every machine takes from the coordinates of the run that deploys it: its
# name, its domain, and whose keys open it.
{ coordinates, lib, ... }:
{
  networking.hostName = lib.mkDefault coordinates.machine;
  networking.domain = lib.mkDefault coordinates.domain;

  # The keys are a fact of who hosts the machine, and so are none of ours.
  users.users.root.openssh.authorizedKeys.keys = coordinates.hosting.authorizedKeys or [ ];

  system.stateVersion = lib.mkDefault "25.05";
}
