# The function library: the part of nixpkgs' lib that NixOS modules of the size
# of ours use, with the names and the behaviour they have there.
let
  load = file: import file { inherit lib; };
  parts = {
    trivial = load ./trivial.nix;
    lists = load ./lists.nix;
    attrsets = load ./attrsets.nix;
    strings = load ./strings.nix;
    properties = load ./properties.nix;
    options = load ./options.nix;
    modules = load ./modules.nix // load ./renames.nix;
    generators = load ./generators.nix;
    meta = load ./meta.nix;
  };
  lib =
    parts.trivial
    // parts.lists
    // parts.attrsets
    // parts.strings
    // parts.properties
    // parts.options
    // parts.modules
    // parts.meta
    // {
      inherit (parts)
        trivial
        lists
        attrsets
        strings
        options
        generators
        meta
        ;
      modules = parts.modules // parts.properties;
      types = load ./types.nix // load ./types-composed.nix;
    };
in
lib
