# Runs an Incus daemon from the tree $1, in a control group named $2 below $3.
#
# It lives in name spaces of mounts and of the network, which take everything along,
# and in one of processes: when the first dies, all do. When the pipe on standard
# input closes it ends everything. Output goes to a file: nobody may be left to read
# it.
exec >machine.log 2>&1
exec 3<&0 </dev/null
set -eu
lower=$1 group=$2 hierarchy=$3

watcher=
cleanup() {
  [ -z "$watcher" ] || kill -KILL $watcher 2>/dev/null || :
  n=0
  until [ ! -e "$hierarchy/$group" ] || find "$hierarchy/$group" -depth -type d -exec rmdir {} + 2>/dev/null || [ $n -ge 2000 ]; do
    n=$((n + 1))
    sleep 0.05
  done
}
trap cleanup EXIT
mkdir -p "$hierarchy/$group/daemon"

mkdir -p tree
mount -t tmpfs -o mode=0755 incus tree
mkdir tree/lower tree/upper tree/work tree/root
mount --bind "$lower" tree/lower
mount -t overlay -o lowerdir=tree/lower,upperdir=tree/upper,workdir=tree/work incus tree/root
mount --bind share tree/root/share
ip link set lo up

unshare --pid --fork --kill-child=KILL --mount-proc sh -c '
  set -eu
  echo 0 > "$2/$1/daemon/cgroup.procs"
  # What is mounted below sees that group as the root of version 2 alone, which the
  # systemd of new containers insists on.
  exec unshare --cgroup --mount --propagation private sh -c "
    set -eu
    cd tree/root
    mount -t proc proc proc
    mount --rbind /dev dev
    mount -t sysfs sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs tmpfs run
    mount -t tmpfs -o mode=0711 tmpfs var/lib/incus
    mkdir -p run/incus run/lock run/lxc
    pivot_root . mnt
    umount -l /mnt
    mount --make-rshared /
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/tmp INCUS_SOCKET=/run/incus.sock sh /share/daemon.sh
  "
' daemon "$group" "$hierarchy" 3<&- &
daemon=$!
{ read -r _ <&3 || :; kill -KILL $daemon; } &
watcher=$!
exec 3<&-
echo $$ > guardian.pid
wait $daemon
