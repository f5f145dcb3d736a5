{ lib, ... }:
let
  flag =
    default: description:
    lib.mkOption {
      type = lib.types.bool;
      inherit default description;
    };
in
{
  options.security = {
    sudo = {
      enable = flag true "Whether there is sudo.";
      execWheelOnly = flag false "Whether only the group wheel may run it.";
      wheelNeedsPassword = flag true "Whether the group wheel needs a password.";
    };
    protectKernelImage = flag false "Whether the running kernel is kept from being replaced.";
  };
}
