#!/bin/busybox sh
# The first program of a virtual machine: load what the disk needs, mount it,
# hand over to what it has to boot. With the argument "probe" it only tells that it ran.
b=/bin/busybox
$b mount -t devtmpfs dev /dev
if [ "$1" = probe ]; then
  echo "probe: user space reached" > /dev/console
  exec $b poweroff -f
fi
for module in /modules/*.ko; do $b insmod "$module"; done
n=0
while [ ! -b /dev/vda ] && [ $n -lt 500 ]; do
  $b usleep 10000
  n=$((n + 1))
done
$b mount -t ext4 -o rw,noatime /dev/vda /root || exec $b poweroff -f
$b mount -o move /dev /root/dev
exec $b switch_root /root /usr/lib/guest/boot
