# What makes store paths out of texts and other store paths. Each builder is
# busybox's shell over a raw derivation.
{
  lib,
  pkgs,
  system,
  busybox,
}:
let
  sh = "${busybox}/bin/busybox";

  # Texts that need nothing built are written when they are evaluated.
  isPlain =
    text: lib.all (context: context == { path = true; }) (lib.attrValues (builtins.getContext text));
in
rec {
  runCommand =
    name: env: script:
    derivation (
      {
        inherit system;
        name = lib.sanitizeDerivationName name;
        builder = sh;
        args = [
          "sh"
          "-euc"
          script
        ];
        PATH = "${busybox}/bin";
        preferLocalBuild = true;
        allowSubstitutes = false;
      }
      // removeAttrs env [
        "meta"
        "passthru"
      ]
    )
    // env.passthru or { }
    // {
      meta = env.meta or { };
      passthru = env.passthru or { };
    };
  runCommandLocal = runCommand;

  writeTextFile =
    {
      name,
      text,
      executable ? false,
      destination ? "",
      meta ? { },
      ...
    }:
    runCommand name
      {
        inherit text meta;
        passAsFile = [ "text" ];
      }
      ''
        file=$out${lib.escapeShellArg destination}
        mkdir -p "''${file%/*}"
        cp "$textPath" "$file"
        chmod ${if executable then "555" else "444"} "$file"
      '';

  writeText =
    name: text:
    if isPlain text then
      builtins.toFile (lib.sanitizeDerivationName name) text
    else
      writeTextFile { inherit name text; };
  writeTextDir =
    path: text:
    writeTextFile {
      name = baseNameOf path;
      inherit text;
      destination = "/${path}";
    };
  writeScript =
    name: text:
    writeTextFile {
      inherit name text;
      executable = true;
    };
  writeScriptBin =
    name: text:
    writeTextFile {
      inherit name text;
      executable = true;
      destination = "/bin/${name}";
      meta.mainProgram = name;
    };
  writeShellScript = name: text: writeScript name "#!${sh} sh\n${text}\n";
  writeShellScriptBin = name: text: writeScriptBin name "#!${sh} sh\n${text}\n";
  writeShellApplication =
    {
      name,
      text,
      runtimeInputs ? [ ],
      ...
    }:
    writeShellScriptBin name ''
      set -eu
      export PATH="${lib.makeBinPath runtimeInputs}:$PATH"
      ${text}
    '';

  linkFarm =
    name: entries:
    runCommand name
      {
        passAsFile = [ "links" ];
        links = lib.concatMapStrings (link: "${link.name}\t${link.path}\n") (
          if builtins.isAttrs entries then
            lib.mapAttrsToList (entry: path: {
              name = entry;
              inherit path;
            }) entries
          else
            entries
        );
      }
      ''
        mkdir -p $out
        while IFS='	' read -r link path; do
          case $link in */*) mkdir -p "$out/''${link%/*}" ;; esac
          ln -s "$path" "$out/$link"
        done <"$linksPath"
      '';

  # The files of all paths in one tree; of two with one name the first stays.
  symlinkJoin =
    {
      name,
      paths,
      postBuild ? "",
      meta ? { },
      ...
    }:
    runCommand name
      {
        inherit meta;
        paths = map toString paths;
      }
      ''
        mkdir -p $out
        for path in $paths; do
          cd "$path"
          find . -type d | while read -r dir; do mkdir -p "$out/$dir"; done
          find . ! -type d | while read -r file; do
            [ -e "$out/$file" ] || [ -L "$out/$file" ] || ln -s "$path/''${file#./}" "$out/$file"
          done
        done
        ${postBuild}
      '';
  buildEnv = symlinkJoin;
}
