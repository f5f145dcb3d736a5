# What the flake needs of nixpkgs beyond a system's packages.
packages: _: {
  # Whoever asks for a Go program gets the one that was built before.
  buildGoModule =
    args:
    packages.runCommand "${args.pname}-${args.version}" { inherit (args) meta; } ''
      mkdir -p $out/bin
      cp ${./slipway} $out/bin/${args.pname}
      chmod +x $out/bin/${args.pname}
    ''
    // { inherit (args) vendorHash src; };

  # A shell is a folder that lists what would be on the PATH.
  mkShellNoCC =
    args:
    packages.runCommand (args.name or "shell") { } ''
      mkdir $out
      printf '%s\n' ${packages.lib.concatStringsSep " " (map toString args.packages)} >$out/packages
      cat >$out/hook <<'END'
      ${args.shellHook or ""}
      END
    '';
}
