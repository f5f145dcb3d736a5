# The operator's forge; its data is on the machine `db`.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/forgejo.nix
    ../modules/public-host.nix
  ];

  slipway.forgejo = {
    domain = "git.${coordinates.domain}";
    database = {
      host = "db.${coordinates.domain}";
      passwordFile = "/var/lib/secrets/forgejo-database";
    };
  };
}
