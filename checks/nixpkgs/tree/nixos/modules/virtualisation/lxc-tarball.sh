mkdir root
cp -r $under/. root
chmod -R u+w root
chmod 755 root/usr/lib/guest/*
mkdir -p root/usr/sbin root/boot/loader root/nix/var/nix/profiles root/etc/systemd/system/multi-user.target.wants
ln -s /usr/lib/guest/boot root/usr/sbin/init
ln -s /dev/null root/etc/systemd/system/guest-network.service
for unit in lxc-dhcp lxc-host-key lxc-registration; do
	ln -s ../$unit.service root/etc/systemd/system/multi-user.target.wants/
done
echo $toplevel >root/boot/loader/default
ln -s $toplevel root/nix/var/nix/profiles/system-1-link
ln -s system-1-link root/nix/var/nix/profiles/system
mkdir -p root/nix/store
cp -a $(grep '^/nix/store/' graph | sort -u) root/nix/store
cp graph root/nix-path-registration
mkdir -p $out/tarball
{
	cat $base
	tar -cf - -C root .
} >$out/tarball/nixos-image-lxc-root.tar
