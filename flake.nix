{
  description = "Slipway puts NixOS machines into service";

  # Go 1.26 or later is in it.
  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      # What one kind of output is for each system.
      eachSystem =
        kind:
        nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
          system:
          (import ./nix {
            pkgs = nixpkgs.legacyPackages.${system};
            source = self;
            version = self.shortRev or "dirty";
          }).${kind}
        );
    in
    {
      packages = eachSystem "packages";
      apps = eachSystem "apps";
      devShells = eachSystem "devShells";
      checks = eachSystem "checks";
    };
}
