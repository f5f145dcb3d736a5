# A database server for services on other machines.
{ config, lib, ... }:
let
  cfg = config.slipway.postgresql;
  inherit (config.services.postgresql.settings) port;
  family = network: if lib.hasInfix ":" network then "ip6" else "ip";
in
{
  options.slipway.postgresql = {
    databases = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      example = [ "forgejo" ];
      description = "Databases; each belongs to an account of its name.";
    };
    clients = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      example = [ "10.0.0.0/24" ];
      description = "Networks whose machines may connect with a password; with none, only this machine may.";
    };
  };

  config = {
    services.postgresql = {
      enable = true;
      enableTCPIP = cfg.clients != [ ];
      ensureDatabases = cfg.databases;
      ensureUsers = map (name: {
        inherit name;
        ensureDBOwnership = true;
      }) cfg.databases;
      authentication = lib.concatMapStrings (
        network: "host sameuser all ${network} scram-sha-256\n"
      ) cfg.clients;
    };

    # Open to the clients, and to nobody else.
    networking.firewall.extraInputRules = lib.concatMapStrings (
      network: "${family network} saddr ${network} tcp dport ${toString port} accept\n"
    ) cfg.clients;
  };
}
