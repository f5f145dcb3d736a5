{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.users;
  keys = {
    keys = lib.mkOption {
      type = lib.types.listOf lib.types.singleLineStr;
      default = [ ];
      description = "Public keys that may log in.";
    };
    keyFiles = lib.mkOption {
      type = lib.types.listOf lib.types.path;
      default = [ ];
      description = "Files with public keys that may log in.";
    };
  };
  text =
    default: description:
    lib.mkOption {
      type = lib.types.str;
      inherit default description;
    };
  maybe =
    type: description:
    lib.mkOption {
      type = lib.types.nullOr type;
      default = null;
      inherit description;
    };
  flag =
    description:
    lib.mkOption {
      type = lib.types.bool;
      default = false;
      inherit description;
    };
  user =
    { name, config, ... }:
    {
      options = {
        enable = flag "Whether the account is made." // {
          default = true;
        };
        name = text name "The name of the account.";
        description = text "" "Who it is.";
        uid = maybe lib.types.int "The number of the account.";
        group = text "" "The first group.";
        extraGroups = lib.mkOption {
          type = lib.types.listOf lib.types.str;
          default = [ ];
          description = "More groups.";
        };
        home = lib.mkOption {
          type = lib.types.path;
          default = "/var/empty";
          description = "The home directory.";
        };
        createHome = flag "Whether the home directory is made.";
        shell = lib.mkOption {
          type = lib.types.either lib.types.path lib.types.package;
          default = "/usr/sbin/nologin";
          description = "The login shell.";
        };
        packages = lib.mkOption {
          type = lib.types.listOf lib.types.package;
          default = [ ];
          description = "Packages for this account.";
        };
        linger = maybe lib.types.bool "Whether the user's service manager runs from boot on; null leaves it as it is.";
        isSystemUser = flag "Whether it belongs to a service.";
        isNormalUser = flag "Whether it belongs to a person.";
        hashedPassword = maybe lib.types.str "The hash of the password.";
        initialHashedPassword = maybe lib.types.str "The hash of the password that a new account starts with.";
        hashedPasswordFile = maybe lib.types.str "The file with the hash of the password.";
        openssh.authorizedKeys = keys;
      };
      config = lib.mkIf config.isNormalUser {
        group = lib.mkDefault "users";
        createHome = lib.mkDefault true;
        home = lib.mkDefault "/home/${config.name}";
        shell = lib.mkDefault "/bin/sh";
      };
    };
  accounts = lib.filter (u: u.enable) (lib.attrValues cfg.users);
  number = value: if value == null then "-" else toString value;
in
{
  options.users = {
    mutableUsers = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether accounts may be changed on the machine.";
    };
    users = lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule user);
      default = { };
      description = "The accounts.";
    };
    groups = lib.mkOption {
      type = lib.types.attrsOf (
        lib.types.submodule (
          { name, ... }:
          {
            options = {
              name = text name "The name of the group.";
              gid = maybe lib.types.int "The number of the group.";
              members = lib.mkOption {
                type = lib.types.listOf lib.types.str;
                default = [ ];
                description = "Accounts in the group.";
              };
            };
          }
        )
      );
      default = { };
      description = "The groups.";
    };
  };

  config = {
    users.users.root = {
      uid = 0;
      group = "root";
      home = "/root";
      shell = lib.mkDefault "/bin/sh";
      isSystemUser = true;
    };
    users.groups = {
      root.gid = 0;
      users.gid = 100;
    };

    assertions = lib.concatMap (u: [
      {
        assertion = u.isSystemUser != u.isNormalUser;
        message = "Exactly one of users.users.${u.name}.isSystemUser and users.users.${u.name}.isNormalUser must be set.";
      }
      {
        assertion = u.group != "";
        message = "users.users.${u.name}.group is unset.";
      }
    ]) accounts;

    system.activationScripts.users.text =
      let
        groups = lib.concatMapStrings (g: "${g.name}:${number g.gid}\n") (lib.attrValues cfg.groups);
        people = lib.concatMapStrings (
          u: "${u.name}:${if u.uid == null && u.isNormalUser then "+" else number u.uid}:${u.group}:${u.home}:${u.shell}:${lib.boolToString u.createHome}\n"
        ) accounts;
      in
      ''
        declaredGroups=${pkgs.writeText "groups" groups}
        declaredUsers=${pkgs.writeText "users" people}
        . ${pkgs.writeText "setup-users.sh" (builtins.readFile ./users-setup.sh)}
      '';
  };
}
