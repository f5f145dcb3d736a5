# Users whose managers run from boot on, whether they are logged in or not.
{ config, lib, ... }:
let
  who =
    value:
    map (u: u.name) (
      lib.filter (u: u.enable && u.linger == value) (lib.attrValues config.users.users)
    );
in
{
  config.systemd.services.linger-users = lib.mkIf (who true ++ who false != [ ]) {
    wantedBy = [ "multi-user.target" ];
    requires = [ "systemd-logind.service" ];
    after = [ "systemd-logind.service" ];
    script = ''
      for user in ${toString (who true)}; do loginctl enable-linger "$user"; done
      cd /var/lib/systemd/linger
      for user in ${toString (who false)}; do
        [ ! -e "$user" ] || loginctl disable-linger "$user"
      done
      for user in *; do
        [ ! -e "$user" ] || id "$user" >/dev/null 2>&1 || rm "$user" # an account that is gone
      done
    '';
    serviceConfig.Type = "oneshot";
  };
}
