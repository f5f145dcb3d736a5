# What the machine runs at boot: the file systems that activation needs, then
# activation, then the service manager. What was booted stays known, whatever
# becomes current later.
[ -d /proc/1 ] || mount -t proc proc /proc
grep -q ' /run ' /proc/mounts || mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs /run
@out@/activate || echo "activation failed ($?); booting all the same" >&2
ln -sfn @out@ /run/booted-system
ln -sfn /run/booted-system /nix/var/nix/gcroots/booted-system
exec /usr/lib/systemd/systemd "$@"
