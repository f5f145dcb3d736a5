# The base of a host that faces the internet. All of it is a default that a
# machine may override.
{ config, lib, ... }:
{
  services.openssh = {
    enable = lib.mkDefault true;
    settings = {
      PermitRootLogin = lib.mkDefault "prohibit-password";
      PasswordAuthentication = lib.mkDefault false;
      KbdInteractiveAuthentication = lib.mkDefault false;
      X11Forwarding = lib.mkDefault false;
      UseDns = lib.mkDefault false;
    };
  };

  networking.nftables.enable = lib.mkDefault true;
  networking.firewall = {
    enable = lib.mkDefault true;
    allowPing = lib.mkDefault true;
    # Strangers knock all day; a log of it hides what matters.
    logRefusedConnections = lib.mkDefault false;
  };

  # Accounts are what the system says. NixOS then refuses a system that nobody
  # could log in to.
  users.mutableUsers = lib.mkDefault false;
  security.sudo.execWheelOnly = lib.mkDefault true;

  boot.kernel.sysctl = {
    "kernel.dmesg_restrict" = lib.mkDefault 1;
    "net.ipv4.conf.all.accept_redirects" = lib.mkDefault 0;
    "net.ipv6.conf.all.accept_redirects" = lib.mkDefault 0;
  };
  boot.tmp.cleanOnBoot = lib.mkDefault true;
  boot.loader.grub.configurationLimit = lib.mkDefault 20;

  # Nobody sits at the console of such a host: a boot that fails should go on as
  # far as it can, so that ssh may still come up.
  systemd.enableEmergencyMode = lib.mkDefault false;

  # A switch must not take away the network that it is watched over.
  systemd.services = lib.mkIf config.networking.useNetworkd {
    systemd-networkd.stopIfChanged = lib.mkDefault false;
    systemd-resolved.stopIfChanged = lib.mkDefault false;
  };

  nix.channel.enable = lib.mkDefault false;
  nix.settings.allowed-users = lib.mkDefault [
    "root"
    "@wheel"
  ];
  nix.gc = {
    automatic = lib.mkDefault true;
    dates = lib.mkDefault "weekly";
    options = lib.mkDefault "--delete-older-than 30d";
  };

  documentation.enable = lib.mkDefault false;
  time.timeZone = lib.mkDefault "UTC";
}
