# What a new machine on Incus starts from: a NixOS that can be logged in to with the
# keys that are put there when it is made, and switched to its own system.
{ lib, ... }:
{
  imports = [ ./existing-host.nix ];

  services.openssh = {
    enable = lib.mkDefault true;
    startWhenNeeded = lib.mkDefault false; # its host keys are read before the first login
    authorizedKeysInHomedir = true;
    settings = {
      PermitRootLogin = lib.mkDefault "prohibit-password";
      PasswordAuthentication = lib.mkDefault false;
      KbdInteractiveAuthentication = lib.mkDefault false;
    };
  };

  documentation.enable = lib.mkDefault false;
  system.stateVersion = lib.mkDefault "25.05";
}
