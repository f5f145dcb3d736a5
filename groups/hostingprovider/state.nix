# Where deployments keep their state. NixOS has no service for OpenTofu's HTTP
# backend; what it has is here: the database, and the web server before whatever
# backend the provider runs on this machine. Until there is one, requests are
# answered with 502, which a deployment takes for a backend that is not there.
{ coordinates, ... }:
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/postgresql.nix
    ../modules/public-host.nix
    ../modules/reverse-proxy.nix
  ];

  slipway.postgresql.databases = [ "state" ];
  slipway.reverseProxy.sites."state.${coordinates.domain}".upstream = "http://127.0.0.1:8080";
}
