# What the flake offers for one system. The programs are those of programs.json,
# which the contract gives.
{
  pkgs,
  source,
  version,
}:
let
  inherit (pkgs) lib;
  inherit (builtins.fromJSON (builtins.readFile ./programs.json)) programs;

  slipway = import ./slipway.nix { inherit pkgs source version; };
  program = import ./program.nix { inherit pkgs slipway; };
  shell = import ./shell.nix { inherit pkgs slipway; };

  # Every program under its names: a name without a verb means a program too.
  byName =
    value:
    builtins.listToAttrs (
      lib.concatMap (
        p:
        map (name: {
          inherit name;
          value = value p name;
        }) ([ p.name ] ++ lib.optional (p ? short) p.short)
      ) programs
    );
  packages = byName (p: _: program p);

  # The programs that differ in their verb alone, by what they have in common.
  siblings = builtins.groupBy (p: lib.removeSuffix "-${p.verb}" p.name) (
    builtins.filter (p: p ? verb) programs
  );
in
{
  packages = packages // {
    inherit slipway;
    default = slipway;
  };

  apps =
    byName (
      p: name: {
        type = "app";
        program = "${packages.${p.name}}/bin/${name}";
        meta = { inherit (p) description; };
      }
    )
    // {
      default = {
        type = "app";
        program = "${slipway}/bin/slipway";
        meta.description = "runs any program by its name";
      };
    };

  devShells = builtins.mapAttrs shell siblings // {
    default = pkgs.mkShellNoCC { packages = [ slipway ]; };
  };

  checks = {
    inherit slipway;
    # programs.json is what the binary says.
    programs = pkgs.runCommand "slipway-programs" { } ''
      ${slipway}/bin/slipway contract programs >programs.json
      cmp programs.json ${./programs.json}
      touch $out
    '';
  };
}
