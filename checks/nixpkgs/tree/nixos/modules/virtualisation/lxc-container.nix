# A machine that is a container on Incus, and the image that it starts from. Under
# the system there is a machine of its own, as everywhere here: a tree in the
# archive machine/root.tar, put there by whoever builds images.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  machine = ../../../machine/root.tar;
  base =
    if builtins.pathExists machine then
      builtins.path {
        path = machine;
        name = "machine-root.tar";
      }
    else
      throw "this stand-in for nixpkgs has no machine to make images of (machine/root.tar)";
in
{
  boot.isContainer = true;

  # As in NixOS, where whoever publishes an image must say otherwise.
  users.users.root.initialHashedPassword = lib.mkOverride 150 "";

  system.build.metadata = pkgs.runCommand "metadata" { } ''
    cat >metadata.yaml <<'EOF'
    architecture: x86_64
    creation_date: 1
    properties:
      description: NixOS ${config.system.nixos.label}
      os: nixos
      release: "${config.system.nixos.release}"
    EOF
    mkdir -p $out/tarball
    tar -cf $out/tarball/nixos-image-lxc.tar metadata.yaml
  '';

  # The machine's archive has no end, so that this continues it.
  system.build.tarball = pkgs.runCommand "tarball" {
    exportReferencesGraph = [
      "graph"
      config.system.build.toplevel
    ];
    inherit base;
    inherit (config.system.build) toplevel;
    under = ./lxc-root;
  } (builtins.readFile ./lxc-tarball.sh);
}
