{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.networking;
  ports = lib.mkOption {
    type = lib.types.listOf lib.types.port;
    default = [ ];
    apply = numbers: lib.unique (builtins.sort builtins.lessThan numbers);
    description = "Ports that are open.";
  };
  range = lib.types.attrsOf lib.types.port;
  opening = {
    allowedTCPPorts = ports;
    allowedUDPPorts = ports;
    allowedTCPPortRanges = lib.mkOption {
      type = lib.types.listOf range;
      default = [ ];
      description = "TCP port ranges that are open: `from`, `to`.";
    };
    allowedUDPPortRanges = lib.mkOption {
      type = lib.types.listOf range;
      default = [ ];
      description = "UDP port ranges that are open: `from`, `to`.";
    };
  };
  switch =
    default: text:
    lib.mkOption {
      type = lib.types.bool;
      inherit default;
      description = text;
    };
  hostNamePattern = "$|[[:alnum:]]([[:alnum:]_-]{0,61}[[:alnum:]])?";

  accept =
    prefix: from:
    lib.concatMap
      (
        protocol:
        let
          upper = lib.toUpper protocol;
          all =
            map toString from."allowed${upper}Ports"
            ++ map (r: "${toString r.from}-${toString r.to}") from."allowed${upper}PortRanges";
        in
        lib.optional (all != [ ]) "${prefix}${protocol} dport { ${lib.concatStringsSep ", " all} } accept"
      )
      [
        "tcp"
        "udp"
      ];
in
{
  options.networking = {
    hostName = lib.mkOption {
      type = lib.types.strMatching hostNamePattern;
      default = config.system.nixos.distroId;
      description = "The name of the machine, without its domain.";
    };
    domain = lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      description = "The domain of the machine.";
    };
    fqdn = lib.mkOption {
      type = lib.types.str;
      readOnly = true;
      default =
        if cfg.hostName != "" && cfg.domain != null then
          "${cfg.hostName}.${cfg.domain}"
        else
          throw "The FQDN is required but cannot be determined from `networking.hostName' and `networking.domain'.";
      description = "The name of the machine with its domain.";
    };
    hostId = lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      description = "The 32 bit host id, as eight hexadecimal digits.";
    };
    hosts = lib.mkOption {
      type = lib.types.attrsOf (lib.types.listOf lib.types.str);
      default = { };
      description = "Names of addresses for /etc/hosts.";
    };
    extraHosts = lib.mkOption {
      type = lib.types.lines;
      default = "";
      description = "Lines for /etc/hosts.";
    };
    nameservers = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "Addresses of name servers.";
    };
    useDHCP = switch true "Whether all interfaces use DHCP.";
    useNetworkd = switch false "Whether networkd configures the network.";
    nftables.enable = switch false "Whether the firewall uses nftables.";
    firewall = opening // {
      enable = switch true "Whether the firewall is on.";
      allowPing = switch true "Whether pings are answered.";
      logRefusedConnections = switch true "Whether refused connections are logged.";
      rejectPackets = switch false "Whether refused packets are rejected and not dropped.";
      trustedInterfaces = lib.mkOption {
        type = lib.types.listOf lib.types.str;
        default = [ ];
        description = "Interfaces from which all is accepted.";
      };
      interfaces = lib.mkOption {
        type = lib.types.attrsOf (lib.types.submodule { options = opening; });
        default = { };
        description = "Ports that are open on one interface.";
      };
      extraInputRules = lib.mkOption {
        type = lib.types.lines;
        default = "";
        description = "nftables rules for incoming packets.";
      };
    };
  };

  config = {
    networking.firewall.trustedInterfaces = [ "lo" ];
    networking.hosts = {
      "127.0.0.1" = [ "localhost" ];
      "::1" = [ "localhost" ];
      "127.0.0.2" = lib.mkIf (cfg.hostName != "") (
        lib.optional (cfg.domain != null) "${cfg.hostName}.${cfg.domain}" ++ [ cfg.hostName ]
      );
    };

    environment.etc = {
      hostname = lib.mkIf (cfg.hostName != "") { text = cfg.hostName + "\n"; };
      hosts.text =
        lib.concatLines (
          lib.mapAttrsToList (address: names: "${address} ${lib.concatStringsSep " " names}") (
            lib.filterAttrs (_: names: names != [ ]) cfg.hosts
          )
        )
        + cfg.extraHosts;
      # The rules are written down and not loaded: a test machine's kernel is
      # its host's.
      "firewall.nft" = lib.mkIf cfg.firewall.enable {
        text = ''
          table inet nixos-fw {
            chain input {
              type filter hook input priority filter; policy drop;
              ct state { established, related } accept
          ${lib.concatMapStrings (line: "    ${line}\n") (
            map (name: "iifname \"${name}\" accept") cfg.firewall.trustedInterfaces
            ++ accept "" cfg.firewall
            ++ lib.concatLists (
              lib.mapAttrsToList (name: accept "iifname \"${name}\" ") cfg.firewall.interfaces
            )
            ++ lib.optional cfg.firewall.allowPing "icmp type echo-request accept"
            ++ lib.filter (line: line != "") (lib.splitString "\n" cfg.firewall.extraInputRules)
          )}  }
          }
        '';
      };
    };

    system.activationScripts.hostname = lib.mkIf (cfg.hostName != "") ''
      ${pkgs.busybox}/bin/busybox hostname ${lib.escapeShellArg cfg.hostName}
    '';
  };
}
