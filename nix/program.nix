# One program: the binary, called by its name.
{ pkgs, slipway }:
p:
pkgs.runCommand p.name
  {
    meta = {
      inherit (p) description;
      mainProgram = p.name;
    };
  }
  ''
    mkdir -p $out/bin
    for name in ${p.name} ${p.short or ""}; do
      ln -s ${slipway}/bin/slipway $out/bin/$name
    done
  ''
