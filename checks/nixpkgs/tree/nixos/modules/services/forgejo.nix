{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.forgejo;
  format = pkgs.formats.ini { };
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
  text =
    default: description:
    lib.mkOption {
      type = lib.types.str;
      inherit default description;
    };
  postgres = cfg.database.type == "postgres";
in
{
  options.services.forgejo = {
    enable = lib.mkEnableOption "Forgejo, a software forge";
    package = lib.mkPackageOption pkgs "forgejo-lts" { };
    user = text "forgejo" "The account it runs as.";
    group = text "forgejo" "The group it runs as.";
    stateDir = text "/var/lib/forgejo" "Where its state is.";
    database = {
      type = lib.mkOption {
        type = lib.types.enum [
          "sqlite3"
          "mysql"
          "postgres"
        ];
        default = "sqlite3";
        description = "The kind of database.";
      };
      host = text "127.0.0.1" "Where the database is.";
      port = lib.mkOption {
        type = lib.types.port;
        default = if postgres then 5432 else 3306;
        description = "The port of the database.";
      };
      name = text "forgejo" "The name of the database.";
      user = text "forgejo" "The account in the database.";
      passwordFile = lib.mkOption {
        type = lib.types.nullOr lib.types.path;
        default = null;
        description = "The file with the password of that account.";
      };
      socket = lib.mkOption {
        type = lib.types.nullOr lib.types.path;
        default = if cfg.database.createDatabase && postgres then "/run/postgresql" else null;
        description = "The socket of the database.";
      };
      createDatabase = flag (lib.versionOlder config.system.stateVersion "25.11") "Whether the database is made on this machine.";
    };
    lfs.enable = flag false "Whether large files are supported.";
    dump = {
      enable = flag false "Whether dumps are made regularly.";
      interval = text "04:31" "When dumps are made.";
    };
    settings = lib.mkOption {
      type = lib.types.submodule {
        freeformType = format.type;
        options = {
          server = {
            HTTP_ADDR = text "0.0.0.0" "The address it listens on.";
            HTTP_PORT = lib.mkOption {
              type = lib.types.port;
              default = 3000;
              description = "The port it listens on.";
            };
            DOMAIN = text "localhost" "Its name.";
            ROOT_URL = text "http://${cfg.settings.server.DOMAIN}:${toString cfg.settings.server.HTTP_PORT}/" "Its address for users.";
            DISABLE_SSH = flag false "Whether git over ssh is off.";
          };
          service.DISABLE_REGISTRATION = flag false "Whether nobody can sign up.";
          session.COOKIE_SECURE = flag false "Whether cookies go over TLS only.";
          log.LEVEL = text "Info" "How much is logged.";
        };
      };
      default = { };
      description = "The settings in app.ini.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = [
      {
        assertion = cfg.database.createDatabase -> !postgres || cfg.database.user == cfg.user;
        message = "services.forgejo.database.user must match services.forgejo.user if the database is to be automatically provisioned";
      }
      {
        assertion = cfg.database.createDatabase && postgres -> cfg.database.user == cfg.database.name;
        message = "services.forgejo: database.user and database.name must be the same where the database is created on this machine";
      }
    ];

    services.forgejo.settings = {
      DEFAULT.WORK_PATH = lib.mkDefault cfg.stateDir;
      database = {
        DB_TYPE = cfg.database.type;
      }
      // lib.optionalAttrs (cfg.database.type != "sqlite3") {
        HOST =
          if cfg.database.socket != null then
            toString cfg.database.socket
          else
            "${cfg.database.host}:${toString cfg.database.port}";
        NAME = cfg.database.name;
        USER = cfg.database.user;
      };
    };

    services.postgresql = lib.mkIf (postgres && cfg.database.createDatabase) {
      enable = true;
      ensureDatabases = [ cfg.database.name ];
      ensureUsers = [
        {
          name = cfg.database.user;
          ensureDBOwnership = true;
        }
      ];
    };

    users.users = lib.mkIf (cfg.user == "forgejo") {
      forgejo = {
        home = cfg.stateDir;
        inherit (cfg) group;
        isSystemUser = true;
      };
    };
    users.groups = lib.mkIf (cfg.group == "forgejo") { forgejo = { }; };

    systemd.tmpfiles.rules = [
      "d '${cfg.stateDir}' 0750 ${cfg.user} ${cfg.group} - -"
      "d '${cfg.stateDir}/conf' 0750 ${cfg.user} ${cfg.group} - -"
    ];

    systemd.services.forgejo = {
      description = "forgejo";
      wantedBy = [ "multi-user.target" ];
      after = [ "network.target" ] ++ lib.optional (postgres && cfg.database.createDatabase) "postgresql.target";
      requires = lib.optional (postgres && cfg.database.createDatabase) "postgresql.target";
      preStart = ''
        cp -f ${format.generate "app.ini" cfg.settings} ${cfg.stateDir}/conf/app.ini
        chmod 600 ${cfg.stateDir}/conf/app.ini
      '';
      serviceConfig = {
        Type = "notify";
        NotifyAccess = "all";
        User = cfg.user;
        Group = cfg.group;
        WorkingDirectory = cfg.stateDir;
        ExecStart = "${lib.getExe cfg.package} web --config ${cfg.stateDir}/conf/app.ini";
        Restart = "always";
        PrivateTmp = true;
      };
    };

    systemd.services.forgejo-dump = lib.mkIf cfg.dump.enable {
      description = "forgejo dump";
      startAt = cfg.dump.interval;
      serviceConfig = {
        Type = "oneshot";
        User = cfg.user;
      };
      script = ''
        mkdir -p ${cfg.stateDir}/dump
        tar -cf ${cfg.stateDir}/dump/forgejo-dump.tar -C ${cfg.stateDir} conf
      '';
    };
  };
}
