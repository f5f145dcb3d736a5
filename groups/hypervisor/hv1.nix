# A host that runs containers and virtual machines of others.
{ ... }:
let
  bridge = "incusbr0";
  https = 8443;
in
{
  imports = [
    ../modules/coordinates.nix
    ../modules/existing-host.nix
    ../modules/public-host.nix
  ];

  virtualisation.incus = {
    enable = true;
    preseed = {
      config."core.https_address" = ":${toString https}";
      networks = [
        {
          name = bridge;
          type = "bridge";
          config = {
            "ipv4.address" = "10.98.0.1/24";
            "ipv4.nat" = "true";
            "ipv6.address" = "none";
          };
        }
      ];
      storage_pools = [
        {
          name = "default";
          driver = "dir";
        }
      ];
      profiles = [
        {
          name = "default";
          devices = {
            eth0 = {
              type = "nic";
              network = bridge;
              name = "eth0";
            };
            root = {
              type = "disk";
              path = "/";
              pool = "default";
            };
          };
        }
      ];
    };
  };

  # Incus wants nftables; its instances ask this host for addresses and names.
  networking.nftables.enable = true;
  networking.firewall = {
    allowedTCPPorts = [ https ];
    interfaces.${bridge} = {
      allowedTCPPorts = [ 53 ];
      allowedUDPPorts = [
        53
        67
      ];
    };
  };
}
