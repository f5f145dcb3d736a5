{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.postgresql;
  show =
    value:
    if builtins.isBool value then
      (if value then "on" else "off")
    else if builtins.isString value then
      "'${lib.replaceStrings [ "'" ] [ "''" ] value}'"
    else
      toString value;
  file = pkgs.writeText "postgresql.conf" (
    lib.concatStrings (
      lib.mapAttrsToList (
        name: value: lib.optionalString (value != null) "${name} = ${show value}\n"
      ) cfg.settings
    )
  );
in
{
  options.services.postgresql = {
    enable = lib.mkEnableOption "PostgreSQL Server";
    package = lib.mkPackageOption pkgs "postgresql" { };
    dataDir = lib.mkOption {
      type = lib.types.path;
      default = "/var/lib/postgresql/17";
      description = "Where its data is.";
    };
    enableTCPIP = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether it listens on all addresses.";
    };
    authentication = lib.mkOption {
      type = lib.types.lines;
      default = "";
      description = "Who may connect from where.";
    };
    initialScript = lib.mkOption {
      type = lib.types.nullOr lib.types.path;
      default = null;
      description = "What is run at the first start.";
    };
    ensureDatabases = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "Databases that are made.";
    };
    ensureUsers = lib.mkOption {
      type = lib.types.listOf (
        lib.types.submodule {
          options = {
            name = lib.mkOption {
              type = lib.types.str;
              description = "The name of the account.";
            };
            ensureDBOwnership = lib.mkOption {
              type = lib.types.bool;
              default = false;
              description = "Whether it owns the database of its name.";
            };
          };
        }
      );
      default = [ ];
      description = "Accounts that are made.";
    };
    settings = lib.mkOption {
      type = lib.types.submodule {
        freeformType = lib.types.attrsOf (
          lib.types.nullOr (
            lib.types.oneOf [
              lib.types.bool
              lib.types.float
              lib.types.int
              lib.types.str
            ]
          )
        );
        options.port = lib.mkOption {
          type = lib.types.port;
          default = 5432;
          description = "The port it listens on.";
        };
      };
      default = { };
      description = "The settings in postgresql.conf.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = map (user: {
      assertion = user.ensureDBOwnership -> lib.elem user.name cfg.ensureDatabases;
      message = "For each user in services.postgresql.ensureUsers with ensureDBOwnership there must be a database of that name: ${user.name}.";
    }) cfg.ensureUsers;

    services.postgresql.settings.listen_addresses = lib.mkDefault (
      if cfg.enableTCPIP then "*" else "localhost"
    );

    users.users.postgres = {
      uid = 71;
      group = "postgres";
      home = "/var/lib/postgresql";
      isSystemUser = true;
    };
    users.groups.postgres.gid = 71;

    systemd.targets.postgresql = {
      description = "PostgreSQL";
      wantedBy = [ "multi-user.target" ];
      requires = [
        "postgresql.service"
        "postgresql-setup.service"
      ];
    };
    systemd.services.postgresql = {
      description = "PostgreSQL Server";
      after = [ "network.target" ];
      preStart = ''
        cp -f ${file} ${cfg.dataDir}/postgresql.conf
        cp -f ${pkgs.writeText "pg_hba.conf" cfg.authentication} ${cfg.dataDir}/pg_hba.conf
      '';
      serviceConfig = {
        ExecStart = "${cfg.package}/bin/postgres -D ${cfg.dataDir}";
        User = "postgres";
        Group = "postgres";
        StateDirectory = "postgresql postgresql/${baseNameOf cfg.dataDir}";
        StateDirectoryMode = "0750";
        Type = "exec";
        Restart = "always";
      };
      unitConfig.RequiresMountsFor = cfg.dataDir;
    };
    systemd.services.postgresql-setup = {
      description = "PostgreSQL Setup Scripts";
      requires = [ "postgresql.service" ];
      after = [ "postgresql.service" ];
      # There are no databases to set up; that the server answers is the most
      # that can be shown.
      script = ''
        for attempt in $(seq 60); do
          nc -w 2 127.0.0.1 ${toString cfg.settings.port} </dev/null >/dev/null && exit 0
          sleep 1
        done
        exit 1
      '';
      serviceConfig = {
        User = "postgres";
        Group = "postgres";
        Type = "oneshot";
        RemainAfterExit = true;
      };
    };
  };
}
