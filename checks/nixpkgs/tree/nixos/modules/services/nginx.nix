{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.services.nginx;
  options = import ./nginx-options.nix { inherit lib; };
  hosts = lib.mapAttrsToList (name: host: host // { id = name; }) cfg.virtualHosts;

  # The table of the stand-in: `listen`, `server` and `location` lines, their
  # fields separated by tabs.
  row = fields: lib.concatStringsSep "\t" (map toString fields) + "\n";
  listens =
    host:
    if host.listen != [ ] then
      map (l: "${l.addr}:${toString (if l.port == null then 80 else l.port)}") (
        lib.filter (l: !l.ssl) host.listen
      )
    else
      map (address: "${address}:${toString cfg.defaultHTTPListenPort}") host.listenAddresses
      ++ lib.optional (host.listenAddresses == [ ]) (toString cfg.defaultHTTPListenPort);
  upstream =
    url:
    let
      parts = builtins.match "http://([^:/]+)(:([0-9]+))?(/.*)?" url;
      port = builtins.elemAt parts 2;
    in
    if parts == null then
      throw "services.nginx: the stand-in cannot pass requests on to ${url}"
    else
      [
        "proxy"
        (builtins.head parts)
        (if port == null then "80" else port)
      ];
  answer =
    text:
    let
      parts = builtins.match "([0-9]{3}) ?(.*)" text;
      code = builtins.head parts;
      rest = builtins.elemAt parts 1;
    in
    if lib.hasPrefix "3" code then
      [
        "redirect"
        code
        rest
      ]
    else
      [
        "return"
        (lib.trim "${code} ${rest}")
      ];
  location =
    path: l: fallback:
    let
      act =
        if l.proxyPass != null then
          upstream l.proxyPass
        else if l.return != null then
          answer (toString l.return)
        else
          [
            "root"
            fallback
          ];
    in
    row (
      [
        "location"
        path
      ]
      ++ act
    );
  server =
    host:
    let
      name = if host.serverName == null then host.id else host.serverName;
      root = l: if l.root != null then l.root else host.root;
      locations = lib.filterAttrs (_: l: l.proxyPass != null || l.return != null || root l != null) host.locations;
    in
    row (
      [
        "server"
        (if host.default then "default" else "-")
        name
      ]
      ++ host.serverAliases
    )
    + lib.concatStrings (lib.mapAttrsToList (path: l: location path l (root l)) locations)
    + lib.optionalString (host.globalRedirect != null) (
      row [
        "location"
        "/"
        "redirect"
        host.redirectCode
        "http://${host.globalRedirect}/"
      ]
    )
    + lib.optionalString (host.root != null && !locations ? "/") (
      row [
        "location"
        "/"
        "root"
        host.root
      ]
    );
  table = pkgs.writeText "nginx.conf" (
    lib.concatStrings (
      map (
        address:
        row [
          "listen"
          address
        ]
      ) (lib.unique (lib.concatMap listens hosts ++ lib.optional (hosts == [ ]) "80"))
    )
    + lib.concatMapStrings server hosts
  );
  path = if cfg.enableReload then "/etc/nginx/nginx.conf" else table;
  nginx = "${cfg.package}/bin/nginx";
in
{
  options.services.nginx = options.service // {
    package = lib.mkPackageOption pkgs "nginx" { };
  };

  config = lib.mkIf cfg.enable {
    assertions = lib.concatMap (host: [
      {
        assertion =
          lib.count lib.id [
            host.addSSL
            host.forceSSL
            host.onlySSL
            host.rejectSSL
          ] <= 1;
        message = "Options services.nginx.service.virtualHosts.${host.id}.addSSL, onlySSL, forceSSL and rejectSSL are mutually exclusive.";
      }
      {
        assertion = !host.enableACME || host.useACMEHost == null;
        message = "Options services.nginx.virtualHosts.${host.id}.enableACME and useACMEHost are mutually exclusive.";
      }
    ]) hosts;

    users.users.nginx = {
      isSystemUser = true;
      group = "nginx";
    };
    users.groups.nginx = { };

    security.acme.certs = lib.listToAttrs (
      map (
        host:
        lib.nameValuePair (if host.serverName == null then host.id else host.serverName) {
          extraDomainNames = host.serverAliases;
          webroot = lib.mkDefault host.acmeRoot;
        }
      ) (lib.filter (host: host.enableACME) hosts)
    );

    environment.etc."nginx/nginx.conf" = lib.mkIf cfg.enableReload { source = table; };

    systemd.services.nginx = {
      description = "Nginx Web Server";
      wantedBy = [ "multi-user.target" ];
      after = [ "network.target" ];
      stopIfChanged = false;
      preStart = "${nginx} -c ${path} -t";
      reloadTriggers = lib.optional cfg.enableReload table;
      startLimitIntervalSec = 60;
      serviceConfig = {
        ExecStart = "${nginx} -c ${path}";
        ExecReload = [
          "${nginx} -c ${path} -t"
          "/bin/kill -HUP $MAINPID"
        ];
        Type = "exec";
        Restart = "always";
        RestartSec = "10s";
        User = cfg.user;
        Group = cfg.group;
        AmbientCapabilities = [ "CAP_NET_BIND_SERVICE" ];
        RuntimeDirectory = "nginx";
      };
    };
  };
}
