# The binary of all programs.
{
  pkgs,
  source,
  version,
}:
pkgs.buildGoModule {
  pname = "slipway";
  inherit version;
  src = source;
  # The hash of what `go mod vendor` writes; `go generate ./targets` brings it up
  # to date.
  vendorHash = pkgs.lib.fileContents ./vendor-hash;
  subPackages = [ "cmd/slipway" ];
  env.CGO_ENABLED = 0;
  ldflags = [
    "-s"
    "-w"
  ];
  # They start machines.
  doCheck = false;
  meta = {
    description = "Puts NixOS machines into service";
    mainProgram = "slipway";
  };
}
