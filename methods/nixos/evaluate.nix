# Evaluates the NixOS system of one machine. `input` is a JSON file; everything
# that the evaluation may depend on is in it or in the two trees that it names.
{ input }:
let
  given = builtins.fromJSON (builtins.readFile input);
  machine =
    { lib, ... }:
    {
      _file = "coordinates";
      networking.hostName = lib.mkDefault given.coordinates.machine;
      nixpkgs.hostPlatform = lib.mkDefault given.system;
    };
in
(import (given.nixpkgs + "/nixos/lib/eval-config.nix") {
  system = null;
  extraModules = [ ];
  specialArgs = { inherit (given) coordinates; };
  modules = map (module: given.source + "/" + module) given.modules ++ [ machine ];
}).config.system.build.toplevel
