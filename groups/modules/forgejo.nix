# A Forgejo behind a web server. Its database is a file of its own, or a
# PostgreSQL on another machine.
{ config, lib, ... }:
let
  cfg = config.slipway.forgejo;
  secured = config.slipway.certificates.enable;
  inherit (config.services.forgejo.settings.server) HTTP_PORT;
in
{
  imports = [ ./reverse-proxy.nix ];

  options.slipway.forgejo = {
    domain = lib.mkOption {
      type = lib.types.str;
      example = "git.example.org";
      description = "The name that the forge is found under.";
    };
    registration = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether strangers may sign up.";
    };
    database = {
      host = lib.mkOption {
        type = lib.types.nullOr lib.types.str;
        default = null;
        example = "db.example.org";
        description = "The PostgreSQL that holds the data; null means a file on this machine.";
      };
      passwordFile = lib.mkOption {
        type = lib.types.nullOr lib.types.str;
        default = null;
        example = "/var/lib/secrets/forgejo-database";
        description = "The file on the machine that holds the password for it; never a path of the Nix store.";
      };
    };
  };

  config = {
    assertions = [
      {
        assertion =
          cfg.database.passwordFile == null || !lib.hasPrefix builtins.storeDir cfg.database.passwordFile;
        message = "slipway.forgejo.database.passwordFile is in the Nix store, which everybody can read.";
      }
    ];

    services.forgejo = {
      enable = true;
      database =
        if cfg.database.host == null then
          {
            type = "sqlite3";
            createDatabase = false;
          }
        else
          {
            type = "postgres";
            inherit (cfg.database) host passwordFile;
            createDatabase = false;
          };
      settings = {
        server = {
          DOMAIN = cfg.domain;
          ROOT_URL = "${if secured then "https" else "http"}://${cfg.domain}/";
          HTTP_ADDR = lib.mkDefault "127.0.0.1";
          HTTP_PORT = lib.mkDefault 3000;
        };
        service.DISABLE_REGISTRATION = lib.mkDefault (!cfg.registration);
        session.COOKIE_SECURE = lib.mkDefault secured;
      };
    };

    slipway.reverseProxy.sites.${cfg.domain}.upstream = "http://127.0.0.1:${toString HTTP_PORT}";
  };
}
