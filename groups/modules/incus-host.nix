# A host that runs containers and virtual machines of others with Incus: what they
# are attached to, and who may have any.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.slipway.incusHost;
  https = 8443;

  pem = "[[:space:]]*-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=[:space:]]+)-----END CERTIFICATE-----[[:space:]]*";
  certificate = lib.types.strMatching pem;
  # The text between the lines that begin and end it, as Incus is told it.
  body =
    text:
    lib.replaceStrings [ " " "\t" "\r" "\n" ] [ "" "" "" "" ] (lib.head (builtins.match pem text));

  # A key without options before it: those are ours to give.
  key = lib.types.strMatching "(ssh|sk-ssh|ecdsa|sk-ecdsa)-[^ ]+ [A-Za-z0-9+/=]+( [^\n]*)?";
  jumpKeys = lib.unique (lib.concatMap (p: p.jumpKeys) (lib.attrValues cfg.projects));

  administrators = lib.unique (map body cfg.administrators);
  bodiesOf = project: map body project.certificates;
  operators = lib.unique (lib.concatMap bodiesOf (lib.attrValues cfg.projects));

  # How this host knows which certificates it let in itself.
  mark = "let in by the system of this host";
  json = name: value: pkgs.writeText "incus-${name}.json" (builtins.toJSON value);
  trusted =
    certificate: projects:
    let
      entry = {
        inherit projects;
        type = "client";
        restricted = projects != [ ];
        description = mark;
        name = if projects == [ ] then "administrator" else lib.concatStringsSep "," projects;
      };
    in
    {
      body = pkgs.writeText "incus-certificate" certificate;
      new = json "certificate" (entry // { inherit certificate; });
      known = json "certificate" entry;
    };
  certificates =
    map (text: trusted text [ ]) administrators
    ++ map (
      text:
      trusted text (lib.attrNames (lib.filterAttrs (_: p: lib.elem text (bodiesOf p)) cfg.projects))
    ) operators;

  project =
    name: p:
    json "project" {
      inherit name;
      inherit (p) config;
      description = "declared by the system of this host";
    };
in
{
  options.slipway.incusHost = {
    network = lib.mkOption {
      type = lib.types.str;
      default = "incusbr0";
      description = "Network that instances are attached to: a bridge of this host.";
    };
    address = lib.mkOption {
      type = lib.types.strMatching "[0-9.]+/[0-9]+";
      default = "10.98.0.1/24";
      description = "Address of this host on that network, with the length of its prefix; instances get the others.";
    };
    administrators = lib.mkOption {
      type = lib.types.listOf certificate;
      default = [ ];
      description = "Certificates, in PEM form, of who may do everything.";
    };
    projects = lib.mkOption {
      type = lib.types.attrsOf (
        lib.types.submodule {
          options = {
            certificates = lib.mkOption {
              type = lib.types.listOf certificate;
              default = [ ];
              description = "Certificates, in PEM form, of who may do what the project allows, and nothing elsewhere.";
            };
            jumpKeys = lib.mkOption {
              type = lib.types.listOf key;
              default = [ ];
              description = "Public keys of who may pass through this host, as the user jump, to the ssh servers of machines.";
            };
            config = lib.mkOption {
              type = lib.types.attrsOf lib.types.str;
              default = { };
              example = {
                "limits.instances" = "10";
              };
              description = "Settings of the project, as Incus documents them.";
            };
          };
          # It keeps to its own images and disks, and to the network that is there.
          config.config = lib.mapAttrs (_: lib.mkDefault) {
            "features.images" = "true";
            "features.networks" = "false";
            "features.profiles" = "true";
            "features.storage.buckets" = "true";
            "features.storage.volumes" = "true";
            "restricted" = "true";
            "restricted.containers.nesting" = "allow"; # Nix in a container takes it
            "restricted.networks.access" = cfg.network;
          };
        }
      );
      default = { };
      description = "Projects of operators. One that is no longer named stays, with all that is in it; its certificates do not.";
    };
  };

  config = {
    assertions = [
      {
        assertion = lib.intersectLists administrators operators == [ ];
        message = "slipway.incusHost: a certificate is an administrator's and that of a project; it can't be both.";
      }
      {
        assertion = !(cfg.projects ? default);
        message = "slipway.incusHost: the project \"default\" is the administrators'.";
      }
      {
        assertion = lib.all (name: builtins.match "[A-Za-z0-9][A-Za-z0-9._-]*" name != null) (
          lib.attrNames cfg.projects
        );
        message = "slipway.incusHost: a project is called by letters, digits, dots, underscores and hyphens.";
      }
    ];

    virtualisation.incus = {
      enable = true;
      startTimeout = lib.mkDefault 120;
      preseed = {
        config."core.https_address" = ":${toString https}";
        networks = [
          {
            name = cfg.network;
            type = "bridge";
            config = {
              "ipv4.address" = cfg.address;
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
                inherit (cfg) network;
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

    # A daemon that can't start is given up after its third time: left to itself it is
    # started for ever, and the switch that starts it never ends.
    systemd.services.incus = {
      startLimitBurst = lib.mkDefault 3;
      startLimitIntervalSec = lib.mkDefault (5 * lib.toInt (toString config.virtualisation.incus.startTimeout));
    };

    # A preseed takes nothing away, and Incus 6.0 knows no certificates in it. Who is
    # no longer named is shut out before anybody else is let in. Certificates that
    # others let in, by hand or by a token, are theirs.
    systemd.services.incus-access = {
      description = "Projects and certificates of Incus";
      wantedBy = [ "incus.service" ];
      after = [
        "incus.service"
        "incus-preseed.service"
      ];
      bindsTo = [ "incus.service" ];
      partOf = [ "incus.service" ];
      path = [
        config.virtualisation.incus.clientPackage
        pkgs.coreutils
        pkgs.gnugrep
      ];
      serviceConfig = {
        Type = "oneshot";
        RemainAfterExit = true;
      };
      script = ''
        set -eu
        fingerprint() { base64 -d "$1" | sha256sum | cut -d ' ' -f 1; }
        # What there is of a kind ($1) by a name ($2) becomes what a file ($4) says; if
        # there is none, it is made as another ($3) says.
        become() {
          if incus query "/1.0/$1/$2" >/dev/null 2>&1; then
            incus query --request PUT --data "$(cat "$4")" "/1.0/$1/$2"
          else
            incus query --request POST --data "$(cat "$3")" "/1.0/$1"
          fi
        }

        declared=" "
        for body in ${toString (map (c: c.body) certificates)}; do
          declared="$declared$(fingerprint "$body") "
        done
        known=$(incus query /1.0/certificates)
        for id in $(echo "$known" | grep -o 'certificates/[0-9a-f]*' | cut -d / -f 2); do
          case $declared in *" $id "*) continue ;; esac
          text=$(incus query "/1.0/certificates/$id")
          case $text in *'"${mark}"'*) incus query --request DELETE "/1.0/certificates/$id" ;; esac
        done
        ${lib.concatLines (
          lib.mapAttrsToList (
            name: p: "become projects ${lib.escapeShellArg name} ${project name p} ${project name p}"
          ) cfg.projects
          ++ map (
            c: "become certificates \"$(fingerprint ${c.body})\" ${c.new} ${c.known}"
          ) certificates
        )}
      '';
    };

    # An operator gets to its machines through this host, and gets nothing of it.
    users = lib.mkIf (jumpKeys != [ ]) {
      groups.jump = { };
      users.jump = {
        isSystemUser = true;
        group = "jump";
        description = "Way to the machines of operators";
        openssh.authorizedKeys.keys = map (
          text: "restrict,port-forwarding,permitopen=\"*:22\" ${text}"
        ) jumpKeys;
      };
    };

    services.openssh.extraConfig = lib.mkIf (jumpKeys != [ ]) ''
      Match User jump
        AllowTcpForwarding local
        AllowStreamLocalForwarding no
        PermitOpen *:22
      Match All
    '';

    # Incus wants nftables; its instances ask this host for addresses and names.
    networking.nftables.enable = true;
    networking.firewall = {
      allowedTCPPorts = [ https ];
      interfaces.${cfg.network} = {
        allowedTCPPorts = [ 53 ];
        allowedUDPPorts = [
          53
          67
        ];
      };
    };
  };
}
