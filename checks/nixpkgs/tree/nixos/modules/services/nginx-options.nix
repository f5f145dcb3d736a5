# The options of nginx and of its virtual hosts.
{ lib }:
let
  inherit (lib.types)
    attrsOf
    int
    lines
    listOf
    nullOr
    path
    port
    str
    submodule
    ;
  flag =
    description:
    lib.mkOption {
      type = lib.types.bool;
      default = false;
      inherit description;
    };
  maybe =
    type: description:
    lib.mkOption {
      type = nullOr type;
      default = null;
      inherit description;
    };
  many =
    type: description:
    lib.mkOption {
      type = listOf type;
      default = [ ];
      inherit description;
    };
  text =
    default: description:
    lib.mkOption {
      type = lines;
      inherit default description;
    };

  location.options = {
    root = maybe path "Where its files are.";
    alias = maybe path "Where its files are, without its own path.";
    index = maybe str "The file for a directory.";
    tryFiles = maybe str "What is tried in turn.";
    return = maybe (lib.types.oneOf [
      str
      int
    ]) "What is answered.";
    proxyPass = maybe str "Where requests go on to.";
    proxyWebsockets = flag "Whether connections may be upgraded.";
    extraConfig = text "" "Lines for its configuration.";
    priority = lib.mkOption {
      type = int;
      default = 1000;
      description = "The order of locations; the lowest comes first.";
    };
    recommendedProxySettings = flag "Whether the usual headers are passed on.";
  };

  listen.options = {
    addr = lib.mkOption {
      type = str;
      description = "The address.";
    };
    port = maybe port "The port.";
    ssl = flag "Whether it speaks TLS.";
    proxyProtocol = flag "Whether it speaks the PROXY protocol.";
    extraParameters = many str "More parameters.";
  };

  host.options = {
    serverName = maybe str "The name, where it is not that of the attribute.";
    serverAliases = many str "More names.";
    listen = many (submodule listen) "Addresses and ports, in full.";
    listenAddresses = many str "Addresses; the ports are the usual ones.";
    default = flag "Whether it answers for names that nobody has.";
    root = maybe path "Where its files are.";
    locations = lib.mkOption {
      type = attrsOf (submodule location);
      default = { };
      description = "What is done under a path.";
    };
    extraConfig = text "" "Lines for its configuration.";
    globalRedirect = maybe str "The host that all requests are sent to.";
    redirectCode = lib.mkOption {
      type = lib.types.ints.between 300 399;
      default = 301;
      description = "The status of redirects.";
    };
    basicAuthFile = maybe path "The file with passwords.";
    enableACME = flag "Whether a certificate is ordered.";
    useACMEHost = maybe str "The certificate of another name that is used.";
    acmeRoot = maybe str "Where challenges are answered from." // {
      default = "/var/lib/acme/acme-challenge";
    };
    acmeFallbackHost = maybe str "The host that answers unknown challenges.";
    addSSL = flag "Whether it speaks TLS as well.";
    onlySSL = flag "Whether it speaks nothing but TLS.";
    forceSSL = flag "Whether plain requests are sent to TLS.";
    rejectSSL = flag "Whether TLS is refused.";
    sslCertificate = maybe path "The certificate.";
    sslCertificateKey = maybe path "The key of the certificate.";
    http2 = flag "Whether it speaks HTTP/2." // {
      default = true;
    };
    http3 = flag "Whether it speaks HTTP/3.";
    quic = flag "Whether it speaks QUIC.";
  };
in
{
  service = {
    enable = lib.mkEnableOption "Nginx Web Server";
    enableReload = flag "Whether a changed configuration reloads the server and does not restart it.";
    user = lib.mkOption {
      type = str;
      default = "nginx";
      description = "The account it runs as.";
    };
    group = lib.mkOption {
      type = str;
      default = "nginx";
      description = "The group it runs as.";
    };
    defaultHTTPListenPort = lib.mkOption {
      type = port;
      default = 80;
      description = "The port for plain requests.";
    };
    defaultSSLListenPort = lib.mkOption {
      type = port;
      default = 443;
      description = "The port for TLS.";
    };
    recommendedTlsSettings = flag "Whether the usual TLS settings are taken.";
    recommendedOptimisation = flag "Whether the usual optimisations are taken.";
    recommendedGzipSettings = flag "Whether answers are compressed.";
    recommendedBrotliSettings = flag "Whether answers are compressed with Brotli.";
    recommendedProxySettings = flag "Whether the usual headers are passed on.";
    serverTokens = flag "Whether the server tells its version.";
    clientMaxBodySize = lib.mkOption {
      type = str;
      default = "10m";
      description = "How large a request may be.";
    };
    commonHttpConfig = text "" "Lines for the configuration, at its start.";
    appendHttpConfig = text "" "Lines for the configuration, at its end.";
    virtualHosts = lib.mkOption {
      type = attrsOf (submodule host);
      default = { };
      description = "The hosts it answers for.";
    };
  };
}
