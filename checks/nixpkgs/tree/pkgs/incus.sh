# Incus where the machine has Debian's, and else a stand-in that runs no instances.
#
#   incusd [--group GROUP]        stay until stopped
#   incusd waitready --timeout=N  end when it can be asked
set -eu
daemon=/usr/libexec/incus/incusd
if [ -x $daemon ]; then
	export PATH=/usr/sbin:/usr/bin:/sbin:/bin
	exec $daemon "$@"
fi
case ${1:-} in
waitready) ;;
--group)
	while :; do
		sleep 3600 &
		wait $!
	done
	;;
*)
	echo "usage: incusd [--group GROUP | waitready --timeout=N]" >&2
	exit 1
	;;
esac
