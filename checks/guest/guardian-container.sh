# Runs a container from the tree $1, with $2 MiB to write to, as the machine $3,
# in control groups named $4 below each of the hierarchies $6…. If $5 is a tree,
# its files are there too, and the container may run containers.
#
# It lives in a mount name space, which takes all mounts along, and in a network
# name space, the far end of the container's cable. When the pipe on standard
# input closes it ends everything. Output goes to a file: nobody may be left to
# read it.
exec >machine.log 2>&1
exec 3<&0 </dev/null
set -eu
lower=$1 size=$2 name=$3 group=$4 nested=$5
shift 5
hierarchies=$*

watcher=
cleanup() {
  [ -z "$watcher" ] || kill -KILL $watcher 2>/dev/null || :
  n=0
  for h in $hierarchies; do
    echo 0 > "$h/cgroup.procs" || :
    until [ ! -e "$h/$group" ] || find "$h/$group" -depth -type d -exec rmdir {} + 2>/dev/null || [ $n -ge 200 ]; do
      n=$((n + 1))
      sleep 0.05
    done
  done
}
trap cleanup EXIT
for h in $hierarchies; do
  mkdir -p "$h/$group/guardian"
  echo 0 > "$h/$group/guardian/cgroup.procs"
done

mkdir -p tree
mount -t tmpfs -o "size=${size}m,mode=0755" guest tree
mkdir tree/lower tree/upper tree/work tree/root
mount --bind "$lower" tree/lower
layers=tree/lower
if [ "$nested" ]; then
  mkdir tree/nested tree/data
  mount --bind "$nested" tree/nested
  layers=tree/lower:tree/nested
fi
mount -t overlay -o lowerdir=$layers,upperdir=tree/upper,workdir=tree/work guest tree/root
boot=/usr/lib/guest/boot
if [ "$nested" ]; then
  # Containers of its own may mount proc and sysfs only if whole ones are mounted
  # here, which nspawn's are not. A sysfs shows the network that it was mounted in.
  cat >tree/root$boot-nested <<'END'
#!/usr/bin/busybox sh
b=/usr/bin/busybox
$b mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
$b mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 /sys/fs/cgroup
$b mkdir -p /dev/.lxc/proc
$b mount -t proc -o nosuid,nodev,noexec proc /dev/.lxc/proc
exec /usr/lib/guest/boot "$@"
END
  chmod 0755 tree/root$boot-nested
  boot=$boot-nested
fi
tar -xf identity.tar -C tree/root --no-same-owner
mount -t tmpfs -o mode=0755 run /run # what nspawn keeps there stays in here

# The container, and with 133 as its status a reboot of it, in a name space of
# processes: when its first process dies, all do.
unshare --pid --fork --kill-child=KILL --mount-proc sh -c '
  set -eu
  name=$1 group=$2 nested=$3 boot=$4
  shift 4
  capability=CAP_NET_ADMIN data=
  if [ "$nested" ]; then
    # Containers of its own need all that the kernel has. What they are on is no
    # overlay, which cannot be shown with other owners.
    export SYSTEMD_NSPAWN_API_VFS_WRITABLE=yes SYSTEMD_SECCOMP=0
    capability=all data=$PWD/tree/data:/var/lib/incus
  fi
  card=52:54:00:12:34:56 # as QEMU has it
  while :; do
    [ ! -e /run/netns/guest ] || ip netns delete guest
    ip link delete wire 2>/dev/null || : # goes with its peer, but later
    ip netns add guest
    ip link add wire type veth peer name eth0 address $card netns guest
    ip address add 10.0.2.2/24 dev wire
    ip link set wire up
    # Known beforehand: asking who has the address costs a second while it has
    # nobody yet.
    ip neighbour replace 10.0.2.15 lladdr $card dev wire nud permanent
    status=0
    (
      for h; do echo 0 > "$h/$group/cgroup.procs"; done
      exec systemd-nspawn --quiet --directory=tree/root --machine="$name" --hostname="$name" \
        --register=no --keep-unit --capability=$capability ${data:+"--bind=$data"} --network-namespace-path=/run/netns/guest --resolv-conf=off --timezone=off --link-journal=no \
        --console=pipe --kill-signal=SIGRTMIN+3 -- $boot </dev/null >>console.log
    ) || status=$?
    [ $status = 133 ] || exit $status
  done
' container "$name" "$group" "$nested" "$boot" "$@" 3<&- &
container=$!
{ read -r _ <&3 || :; kill -KILL $container; } &
watcher=$!
exec 3<&-
echo $$ > guardian.pid
wait $container
