# Evaluates the NixOS system of one machine, or an image that machines start from.
# `input` is a JSON file; everything that the evaluation may depend on is in it or
# in the two trees that it names.
{ input }:
let
  given = builtins.fromJSON (builtins.readFile input);
  image = given.image or null;
  machine =
    { lib, ... }:
    {
      _file = "coordinates";
      networking.hostName = lib.mkDefault given.coordinates.machine;
      nixpkgs.hostPlatform = lib.mkDefault given.system;
    };
  evaluated = import (given.nixpkgs + "/nixos/lib/eval-config.nix") {
    system = null;
    extraModules = [ ];
    specialArgs = { inherit (given) coordinates; };
    modules = map (module: given.source + "/" + module) given.modules ++ [ machine ];
  };
  build = evaluated.config.system.build;

  # Whoever starts a machine from an image starts it where others can reach it.
  root = evaluated.config.users.users.root;
  empty = builtins.filter (option: (root.${option} or null) == "") [
    "hashedPassword"
    "initialHashedPassword"
    "initialPassword"
    "password"
  ];
  safe =
    parts:
    if empty == [ ] then
      parts
    else
      throw "users.users.root.${builtins.head empty} is empty: whoever reaches a machine made from this image could log in to it. Set it to \"!\".";

  parts = [
    {
      name = "system";
      path = build.toplevel;
    }
    {
      name = "metadata";
      path = build.metadata;
    }
    {
      name = "root";
      path = if image == "container" then build.squashfs or build.tarball else build.qemuImage;
    }
  ];
in
if image == null then build.toplevel else evaluated.pkgs.linkFarm "incus-image" (safe parts)
