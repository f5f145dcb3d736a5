# The web server under every site of a machine.
{ lib, ... }:
{
  imports = [ ./certificates.nix ];

  services.nginx = {
    enable = true;
    # A changed site reloads the server, so that no visitor is cut off.
    enableReload = lib.mkDefault true;
    recommendedGzipSettings = lib.mkDefault true;
    recommendedOptimisation = lib.mkDefault true;
    recommendedProxySettings = lib.mkDefault true;
    recommendedTlsSettings = lib.mkDefault true;
  };

  networking.firewall.allowedTCPPorts = [ 80 ];
}
