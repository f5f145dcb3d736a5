{
  config,
  lib,
  ...
}:
let
  cfg = config.security.acme;
  maybe =
    description:
    lib.mkOption {
      type = lib.types.nullOr lib.types.str;
      default = null;
      inherit description;
    };
  inheritable = {
    email = maybe "Who is told of problems.";
    server = maybe "The directory of the certificate authority." // {
      default = "https://acme-v02.api.letsencrypt.org/directory";
    };
    webroot = maybe "Where challenges are answered from.";
    dnsProvider = maybe "The DNS provider that answers challenges.";
    environmentFile = maybe "A file with variables for the order.";
    group = lib.mkOption {
      type = lib.types.str;
      default = "acme";
      description = "The group that may read the certificate.";
    };
    keyType = lib.mkOption {
      type = lib.types.str;
      default = "ec256";
      description = "The kind of key.";
    };
    reloadServices = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "Services that are reloaded with a new certificate.";
    };
  };
  cert =
    { name, ... }:
    {
      options = lib.mapAttrs (
        key: option: option // { default = cfg.defaults.${key}; }
      ) inheritable // {
        domain = lib.mkOption {
          type = lib.types.str;
          default = name;
          description = "The name on the certificate.";
        };
        extraDomainNames = lib.mkOption {
          type = lib.types.listOf lib.types.str;
          default = [ ];
          description = "More names.";
        };
      };
    };
  used = cfg.certs != { };
  serverOf = c: builtins.match "https?://([^:/]+)(:([0-9]+))?(/.*)?" c.server;
in
{
  options.security.acme = {
    acceptTerms = lib.mkOption {
      type = lib.types.bool;
      default = false;
      description = "Whether the terms of the certificate authority are accepted.";
    };
    defaults = inheritable;
    certs = lib.mkOption {
      type = lib.types.attrsOf (lib.types.submodule cert);
      default = { };
      description = "The certificates.";
    };
  };

  config = lib.mkIf used {
    assertions = [
      {
        assertion = cfg.acceptTerms;
        message = "You must accept the CA's terms of service before using the ACME module by setting `security.acme.acceptTerms` to `true`.";
      }
    ]
    ++ lib.mapAttrsToList (name: c: {
      assertion = c.email != null;
      message = "You must define `security.acme.certs.${name}.email` or `security.acme.defaults.email`.";
    }) cfg.certs;

    # No order is ever filled: the stand-in only finds out whether there is an
    # authority, which on a machine without a way out there is not.
    systemd.services = lib.mapAttrs' (
      name: c:
      lib.nameValuePair "acme-order-renew-${name}" {
        description = "Order (and renew) ACME certificate for ${name}";
        wantedBy = [ "multi-user.target" ];
        after = [ "network-online.target" ];
        wants = [ "network-online.target" ];
        restartIfChanged = false;
        startAt = "daily";
        serviceConfig.Type = "oneshot";
        script =
          let
            parts = serverOf c;
            port = builtins.elemAt parts 2;
          in
          ''
            if ! nc -w 5 ${builtins.head parts} ${if port == null then "443" else port} </dev/null >/dev/null; then
              echo "cannot reach ${c.server}" >&2
              exit 11
            fi
            echo "${c.server} answers; a stand-in orders nothing" >&2
            exit 10
          '';
      }
    ) cfg.certs;
  };
}
