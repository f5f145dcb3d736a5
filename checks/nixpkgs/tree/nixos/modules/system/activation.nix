{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.system;
  snippet = lib.types.submodule {
    options = {
      deps = lib.mkOption {
        type = lib.types.listOf lib.types.str;
        default = [ ];
        description = "Snippets that run before this one.";
      };
      text = lib.mkOption {
        type = lib.types.lines;
        description = "What runs, in the shell.";
      };
      supportsDryActivation = lib.mkOption {
        type = lib.types.bool;
        default = false;
        description = "Whether it also runs when nothing may change; `NIXOS_ACTION` is `dry-activate` then.";
      };
    };
  };

  # Names with those first that others depend on.
  ordered =
    snippets:
    let
      visit =
        done: name:
        if lib.elem name done then
          done
        else
          builtins.foldl' visit done (
            snippets.${name}.deps or (throw "The activation script snippet `${name}' does not exist.")
          )
          ++ [ name ];
    in
    lib.unique (builtins.foldl' visit [ ] (lib.attrNames snippets));

  script =
    only: snippets: finish:
    let
      run = name: ''
        #### Activation script snippet ${name}:
        _localstatus=0
        ${snippets.${name}.text}

        if [ "$_localstatus" -gt 0 ]; then
          printf "Activation script snippet '%s' failed (%s)\n" ${lib.escapeShellArg name} "$_localstatus" >&2
        fi
      '';
    in
    ''
      #!${pkgs.busybox}/bin/busybox sh
      systemConfig=@out@
      export PATH=${pkgs.applets}/bin:/run/current-system/sw/bin:/usr/sbin:/usr/bin
      umask 0022
      # A snippet that fails is reported, and the next ones run all the same.
      _status=0
      _localstatus=0
      trap '_localstatus=$? _status=1' ERR

      ${lib.concatMapStrings run (lib.filter (name: only snippets.${name}) (ordered snippets))}
      ${finish}
      exit $_status
    '';
in
{
  options.system = {
    activationScripts = lib.mkOption {
      type = lib.types.attrsOf (lib.types.coercedTo lib.types.str (text: { inherit text; }) snippet);
      default = { };
      description = "What brings the machine in line with the system, beside its units.";
    };
    activatable = lib.mkOption {
      type = lib.types.bool;
      default = true;
      description = "Whether the system has a script that activates it.";
    };
    build = lib.mkOption {
      type = lib.types.submodule {
        freeformType = lib.types.lazyAttrsOf (lib.types.uniq lib.types.unspecified);
      };
      default = { };
      description = "What can be built of the system.";
    };
  };

  config.system.build = {
    activationScript = script (_: true) cfg.activationScripts ''
      # Make this configuration the current one, and keep it from being collected.
      ln -sfn "$systemConfig" /run/current-system.new
      mv -T /run/current-system.new /run/current-system
      mkdir -p /nix/var/nix/gcroots
      ln -sfn /run/current-system /nix/var/nix/gcroots/current-system
    '';
    dryActivationScript = script (s: s.supportsDryActivation) cfg.activationScripts "";
  };
}
