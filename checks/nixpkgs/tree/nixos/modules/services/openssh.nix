{
  config,
  lib,
  ...
}:
let
  cfg = config.services.openssh;
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
  maybe =
    type: default: description:
    lib.mkOption {
      type = lib.types.nullOr type;
      inherit default description;
    };
  words = lib.types.listOf lib.types.str;
  show =
    value:
    if builtins.isBool value then
      (if value then "yes" else "no")
    else if builtins.isList value then
      lib.concatStringsSep (if lib.all builtins.isString value then "," else " ") value
    else
      toString value;
  accounts = lib.filterAttrs (
    _: user: user.openssh.authorizedKeys.keys ++ user.openssh.authorizedKeys.keyFiles != [ ]
  ) config.users.users;
in
{
  options.services.openssh = {
    enable = flag false "Whether the machine can be logged in to over ssh.";
    ports = lib.mkOption {
      type = lib.types.listOf lib.types.port;
      default = [ 22 ];
      description = "The ports it listens on.";
    };
    openFirewall = flag true "Whether the firewall lets it through.";
    startWhenNeeded = flag false "Whether a socket starts it.";
    authorizedKeysInHomedir = flag true "Whether keys in home directories count.";
    authorizedKeysFiles = lib.mkOption {
      type = words;
      default = [ ];
      description = "Files with the keys of an account.";
    };
    generateHostKeys = flag true "Whether missing host keys are made.";
    hostKeys = lib.mkOption {
      type = lib.types.listOf (lib.types.attrsOf lib.types.anything);
      default = [
        {
          type = "ed25519";
          path = "/etc/ssh/ssh_host_ed25519_key";
        }
      ];
      description = "The keys of the machine.";
    };
    listenAddresses = lib.mkOption {
      type = lib.types.listOf (lib.types.attrsOf lib.types.anything);
      default = [ ];
      description = "The addresses it listens on.";
    };
    extraConfig = lib.mkOption {
      type = lib.types.lines;
      default = "";
      description = "Lines for its configuration.";
    };
    settings = lib.mkOption {
      type = lib.types.submodule {
        freeformType = lib.types.attrsOf (
          lib.types.nullOr (
            lib.types.oneOf [
              lib.types.bool
              lib.types.int
              lib.types.str
              words
            ]
          )
        );
        options = {
          PermitRootLogin = lib.mkOption {
            type = lib.types.nullOr (
              lib.types.enum [
                "yes"
                "without-password"
                "prohibit-password"
                "forced-commands-only"
                "no"
              ]
            );
            default = "prohibit-password";
            description = "Whether root may log in.";
          };
          PasswordAuthentication = maybe lib.types.bool true "Whether passwords count.";
          KbdInteractiveAuthentication = maybe lib.types.bool true "Whether questions are asked.";
          X11Forwarding = maybe lib.types.bool false "Whether X11 is forwarded.";
          UseDns = maybe lib.types.bool false "Whether names of clients are looked up.";
          AllowUsers = maybe words null "Who may log in.";
          AllowGroups = maybe words null "Whose groups may log in.";
          KexAlgorithms = maybe words null "Key exchanges.";
          Ciphers = maybe words null "Ciphers.";
          Macs = maybe words null "Message authentication codes.";
        };
      };
      default = { };
      description = "Settings of sshd.";
    };
  };

  config = lib.mkMerge [
    {
      # The keys of an account come with the system.
      environment.etc = lib.mapAttrs' (
        name: user:
        lib.nameValuePair "ssh/authorized_keys.d/${name}" {
          mode = "0444";
          text = lib.concatLines (
            user.openssh.authorizedKeys.keys
            ++ map lib.fileContents user.openssh.authorizedKeys.keyFiles
          );
        }
      ) accounts;
    }
    (lib.mkIf cfg.enable {
      services.openssh.authorizedKeysFiles =
        lib.optional cfg.authorizedKeysInHomedir "%h/.ssh/authorized_keys"
        ++ [ "/etc/ssh/authorized_keys.d/%u" ];
      networking.firewall.allowedTCPPorts = lib.mkIf cfg.openFirewall cfg.ports;

      environment.etc."ssh/sshd_config".text =
        lib.concatMapStrings (port: "Port ${toString port}\n") cfg.ports
        + lib.concatMapStrings (key: "HostKey ${key.path}\n") cfg.hostKeys
        + "AuthorizedKeysFile ${toString cfg.authorizedKeysFiles}\n"
        + lib.concatStrings (
          lib.mapAttrsToList (
            name: value: lib.optionalString (value != null) "${name} ${show value}\n"
          ) cfg.settings
        )
        + cfg.extraConfig;

      # A machine that comes with its own sshd.service keeps that one.
      systemd.services.sshd = lib.mkIf (!cfg.startWhenNeeded) {
        description = "SSH Daemon";
        wantedBy = [ "multi-user.target" ];
        after = [ "network.target" ];
        stopIfChanged = false;
        restartTriggers = [ config.environment.etc."ssh/sshd_config".source ];
        serviceConfig = {
          ExecStart = "/usr/sbin/sshd -D -f /etc/ssh/sshd_config";
          KillMode = "process";
          Restart = "always";
          Type = "exec";
        };
      };
    })
  ];
}
