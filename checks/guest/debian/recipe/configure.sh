#!/bin/bash
# Turns an unpacked tree of Debian packages into a machine that boots: what the
# packages' own scripts would have done, and the shape of NixOS on top.
#
# usage: configure.sh TREE RECIPE SUITE
set -euo pipefail
tree=$1 recipe=$2 suite=$3
list() { sed -e '/^#/d' -e '/^$/d' "$recipe/$1"; }

rm -f "$tree/etc/os-release" # a link in Debian
for root in root "root-$suite"; do
  cp -r --no-preserve=ownership "$recipe/$root/." "$tree/"
done
chmod 0755 "$tree"/usr/lib/guest/*

# Users: Debian's masters, then what the packages declare.
cp "$tree/usr/share/base-passwd/passwd.master" "$tree/etc/passwd"
cp "$tree/usr/share/base-passwd/group.master" "$tree/etc/group"
sed -i 's#^root:.*#root:x:0:0:root:/root:/bin/bash#' "$tree/etc/passwd"
sed 's/^\([^:]*\):.*/\1:*:20000:0:99999:7:::/' "$tree/etc/passwd" > "$tree/etc/shadow"
chmod 0640 "$tree/etc/shadow"
: > "$tree/etc/gshadow"
systemd-sysusers --root="$tree"
ldconfig -r "$tree"

# Names that alternatives and diversions would have made.
ln -sf mawk "$tree/usr/bin/awk"
ln -sf bash "$tree/usr/bin/sh"

: > "$tree/etc/fstab"
echo guest > "$tree/etc/hostname"
echo 'b1f2c3d4e5f60718293a4b5c6d7e8f90' > "$tree/etc/machine-id"
install -d "$tree/nix/store" "$tree"/nix/var/nix/{profiles,gcroots,db} "$tree/var/empty"
install -d -m 0700 "$tree/root/.ssh"
rm -rf "$tree/var/run" "$tree/var/lock" "$tree/var/log/journal"
ln -s /run "$tree/var/run"
ln -s /run/lock "$tree/var/lock"

# Nobody here reads these.
rm -rf "$tree/usr/share/perl" "$tree/usr/lib/x86_64-linux-gnu/perl" "$tree/usr/lib/udev/hwdb.d" \
  "$tree/usr/lib/x86_64-linux-gnu/gconv" "$tree/usr/share/fish/man" "$tree/boot"

rm -d "$tree/etc/systemd/user" # empty; a system brings its own
# Whoever asks for logind starts it.
rm "$tree/usr/lib/systemd/system/multi-user.target.wants/systemd-logind.service"

units=$tree/etc/systemd/system
install -d "$units/multi-user.target.wants" "$tree/etc/systemd/system-generators"
ln -sf /usr/lib/systemd/system/multi-user.target "$units/default.target"
ln -sf /usr/lib/systemd/system/ssh.service "$units/sshd.service"
for unit in /usr/lib/systemd/system/ssh.service ../guest-network.service ../guest-identity.service; do
  ln -sf "$unit" "$units/multi-user.target.wants/${unit##*/}"
done
list masked | while read -r unit; do ln -sf /dev/null "$units/$unit"; done
for generator in "$tree"/usr/lib/systemd/system-generators/*; do
  ln -sf /dev/null "$tree/etc/systemd/system-generators/${generator##*/}"
done
