# What a system says of the kernel that it boots with: two systems that differ
# in it need a reboot between them.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  cfg = config.boot;
  inherit (cfg.kernelPackages) kernel;
  present =
    description:
    lib.mkOption {
      type = lib.types.bool;
      default = !cfg.isContainer;
      inherit description;
    };
  modules =
    description:
    lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      inherit description;
    };
in
{
  options.boot = {
    kernel.enable = present "Whether the machine has a kernel of its own.";
    kernelPackages = lib.mkOption {
      type = lib.types.raw;
      default = pkgs.linuxPackages;
      description = "The kernel, with what is built for it.";
    };
    kernelParams = lib.mkOption {
      type = lib.types.listOf lib.types.str;
      default = [ ];
      description = "Parameters of the kernel.";
    };
    initrd = {
      enable = present "Whether an initial system comes before this one.";
      availableKernelModules = modules "Kernel modules that the initial system has.";
      kernelModules = modules "Kernel modules that the initial system loads.";
    };
  };

  config.system = {
    build = {
      inherit kernel;
      initialRamdisk = pkgs.writeTextDir "initrd" (
        lib.concatLines (
          [ "stand-in for an initial system with ${kernel}" ]
          ++ cfg.initrd.availableKernelModules
          ++ cfg.initrd.kernelModules
        )
      );
    };
    extraSystemBuilderCmds =
      lib.optionalString cfg.kernel.enable ''
        ln -s ${kernel}/bzImage $out/kernel
        ln -s ${kernel} $out/kernel-modules
        printf %s ${lib.escapeShellArg (toString cfg.kernelParams)} >$out/kernel-params
      ''
      + lib.optionalString (cfg.kernel.enable && cfg.initrd.enable) ''
        ln -s ${config.system.build.initialRamdisk}/initrd $out/initrd
      '';
  };
}
