# What the machine runs at boot: the file systems that activation needs, then
# activation, then the service manager.
[ -d /proc/1 ] || mount -t proc proc /proc
grep -q ' /run ' /proc/mounts || mount -t tmpfs -o mode=0755,nosuid,nodev tmpfs /run
@out@/activate
ln -sfn @out@ /run/booted-system
exec /usr/lib/systemd/systemd "$@"
