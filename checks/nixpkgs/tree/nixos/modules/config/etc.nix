{
  config,
  lib,
  pkgs,
  ...
}:
let
  entries = lib.filter (entry: entry.enable) (lib.attrValues config.environment.etc);
  entry =
    { name, config, ... }:
    {
      options = {
        enable = lib.mkOption {
          type = lib.types.bool;
          default = true;
          description = "Whether the file is made.";
        };
        target = lib.mkOption {
          type = lib.types.str;
          default = name;
          description = "Where the file is, below /etc.";
        };
        text = lib.mkOption {
          type = lib.types.nullOr lib.types.lines;
          default = null;
          description = "What is in the file.";
        };
        source = lib.mkOption {
          type = lib.types.path;
          description = "The file or directory that is linked.";
        };
        mode = lib.mkOption {
          type = lib.types.str;
          default = "symlink";
          description = "`symlink`, or the mode of a copy.";
        };
        uid = lib.mkOption {
          type = lib.types.int;
          default = 0;
          description = "The owner of a copy.";
        };
        gid = lib.mkOption {
          type = lib.types.int;
          default = 0;
          description = "The group of a copy.";
        };
        user = lib.mkOption {
          type = lib.types.str;
          default = toString config.uid;
          description = "The owner of a copy, by name.";
        };
        group = lib.mkOption {
          type = lib.types.str;
          default = toString config.gid;
          description = "The group of a copy, by name.";
        };
      };
      config.source = lib.mkIf (config.text != null) (
        lib.mkDefault (pkgs.writeText "etc-${baseNameOf name}" config.text)
      );
    };
in
{
  options.environment.etc = lib.mkOption {
    type = lib.types.attrsOf (lib.types.submodule entry);
    default = { };
    description = "Files of /etc.";
  };

  config.system = {
    build.etc = pkgs.runCommand "etc" {
      passAsFile = [ "entries" ];
      entries = lib.concatMapStrings (
        e: "${e.target}\t${e.source}\t${e.mode}\t${e.user}:${e.group}\n"
      ) entries;
    } (builtins.readFile ./etc-build.sh);

    activationScripts.etc = {
      text = ''
        . ${pkgs.writeText "setup-etc.sh" (builtins.readFile ./etc-setup.sh)}
      '';
      deps = [ "users" ];
    };
  };
}
