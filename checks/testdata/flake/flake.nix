{
  outputs =
    { self }:
    {
      lib = import ./lib;
      legacyPackages = self.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
        system:
        import ./. {
          inherit system;
          overlays = [ (import ./go.nix) ];
        }
      );
    };
}
