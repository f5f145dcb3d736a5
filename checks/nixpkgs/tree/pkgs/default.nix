# The packages. There is one program in all of them, Debian's static busybox;
# whatever else a module asks for is an alias of it, a small stand-in of our
# own, or missing.
{
  lib,
  system,
  config,
}:
self:
let
  busyboxDir = builtins.path {
    path = ../busybox;
    name = "busybox-static";
  };
  # Busybox looks at its own name, so it needs one without a hash before it.
  busybox = {
    type = "derivation";
    name = "busybox-static";
    outPath = busyboxDir;
    meta.mainProgram = "busybox";
  };

  alias =
    name: mainProgram:
    self.applets
    // {
      inherit name;
      meta = { inherit mainProgram; };
    };
  standIn =
    name: program: file:
    self.writeTextFile {
      inherit name;
      executable = true;
      destination = "/bin/${program}";
      text = "#!${busybox}/bin/busybox sh\n${builtins.readFile file}";
      meta.mainProgram = program;
    };
in
{
  inherit config lib busybox;
  pkgs = self;
  stdenv.hostPlatform = {
    inherit system;
    isLinux = true;
    isx86_64 = lib.hasPrefix "x86_64-" system;
    isAarch64 = lib.hasPrefix "aarch64-" system;
  };

  applets = self.runCommand "busybox-applets" { } ''
    mkdir -p $out/bin
    for applet in $(busybox --list); do
      ln -s ${busybox}/bin/busybox $out/bin/$applet
    done
    ln -s ${busybox}/bin/busybox $out/bin/bash
  '';
  bash = alias "bash" "bash";
  bashInteractive = alias "bash-interactive" "bash";
  coreutils = alias "coreutils" "ls";
  findutils = alias "findutils" "find";
  gawk = alias "gawk" "awk";
  gnugrep = alias "gnugrep" "grep";
  gnused = alias "gnused" "sed";
  gnutar = alias "gnutar" "tar";
  gzip = alias "gzip" "gzip";
  netcat = alias "netcat" "nc";

  # The machine's own service manager, under the names it has in a package.
  systemd = self.runCommand "systemd" { meta.mainProgram = "systemctl"; } ''
    mkdir -p $out/bin $out/lib/systemd
    for program in journalctl loginctl systemctl systemd-analyze systemd-notify systemd-run systemd-tmpfiles; do
      ln -s /usr/bin/$program $out/bin/$program
    done
    ln -s /usr/lib/systemd/systemd $out/lib/systemd/systemd
  '';

  linuxPackages = self.linuxPackagesFor "6.12.57";
  linuxPackages_latest = self.linuxPackagesFor "6.17.7";
  # A kernel is its version, and boots nothing: the machine has one of its own.
  linuxPackagesFor = version: {
    kernel =
      self.runCommand "linux-${version}" { } ''
        mkdir -p $out/lib/modules/${version}
        echo "stand-in for the kernel ${version}" >$out/bzImage
      ''
      // {
        inherit version;
        modDirVersion = version;
      };
  };

  nginx = standIn "nginx-standin" "nginx" ./nginx.sh;
  forgejo = standIn "forgejo-standin" "gitea" ./forgejo.sh;
  forgejo-lts = self.forgejo;
  postgresql = standIn "postgresql-standin" "postgres" ./postgres.sh;
  incus = standIn "incus-standin" "incusd" ./incus.sh // {
    client = standIn "incus-client-standin" "incus" ./incus-client.sh;
  };
  incus-lts = self.incus;

  formats = import ./formats.nix {
    inherit lib;
    pkgs = self;
  };
}
// import ./builders.nix {
  inherit lib system busybox;
  pkgs = self;
}
