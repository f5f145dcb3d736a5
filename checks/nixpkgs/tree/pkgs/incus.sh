# A stand-in for Incus: keeps what it was told to be and runs no instances.
#
#   incusd                  stay until stopped
#   incusd preseed FILE     keep the settings
set -eu
state=${INCUS_DIR:-/var/lib/incus}
mkdir -p "$state"
case ${1:-} in
preseed)
	cp "$2" "$state/preseed.yaml.new"
	mv "$state/preseed.yaml.new" "$state/preseed.yaml"
	;;
'')
	[ -z "${NOTIFY_SOCKET:-}" ] || systemd-notify --ready
	while :; do
		sleep 3600 &
		wait $!
	done
	;;
*)
	echo "usage: incusd [preseed FILE]" >&2
	exit 1
	;;
esac
