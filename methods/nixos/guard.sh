# Brings the machine back to the system that it came from, unless the run that
# switches it confirms in the end that it can still be reached. Until then that
# run shows every now and then that it is there. This was started before the
# switch, and needs nobody from then on.
#
# Arguments: a folder of its own, the unit of the switch, the toplevel that it
# switches to, the toplevel before, how many seconds may pass without a sign of
# the run, and how many the switch may take.
dir=$1 unit=$2 to=$3 from=$4 confirm=$5 limit=$6
# The tools of the system before: the other one is not proved yet.
PATH=$from/sw/bin:/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
# As text: the folder may be gone when it is wanted.
switch=$(cat "$dir/switch")

# A clock that nobody sets.
up() {
	read -r seconds _ </proc/uptime
	echo "${seconds%.*}"
}
# A manager that is just being replaced says nothing.
running() {
	case $(systemctl show --value --property=SubState "$unit" 2>/dev/null) in
	'' | running | start | start-* | stop | stop-* | final-*) return 0 ;;
	esac
	return 1
}

end=$(($(up) + 60))
until [ -e "$dir/started" ]; do
	if [ "$(up)" -ge "$end" ]; then
		# Its unit stays when it has ended, until somebody collects it and notes that
		# it was started. So one that nobody knows never was.
		if [ "$(systemctl show --value --property=LoadState "$unit" 2>/dev/null)" = not-found ]; then
			rm -f /nix/var/nix/gcroots/slipway-before
			exit 0
		fi
		break
	fi
	sleep 0.2
done
end=$(($(up) + limit)) why= cause=
while running; do
	if [ "$(up)" -ge "$end" ]; then
		why="the switch did not end within $limit s" cause=slow
		break
	fi
	sleep 0.5
done
if [ -z "$why" ]; then
	why="for $confirm s after the switch, nobody showed over a new login that the machine can be reached"
	sign=$(up)
	until [ -L "$dir/decision" ] || [ ! -d "$dir" ] || [ "$(up)" -ge $((sign + confirm)) ]; do
		sleep 0.5
		[ ! -s "$dir/sign" ] || read -r sign <"$dir/sign"
	done
fi

# Whoever makes this link first has decided. The run may have done so too: that the
# machine goes back. Where nobody can make it (/run is full or read-only, the folder
# was taken away), nobody has confirmed either.
if ! ln -s reverted "$dir/decision" 2>/dev/null; then
	case $(readlink "$dir/decision") in
	confirmed) exit 0 ;;
	reverted) read -r why <"$dir/why" ;;
	*) why="$why (the decision could not be noted in $dir)" ;;
	esac
fi
echo "$why; going back to $from" >&2
systemctl stop "$unit"
# What was brought half-way is not repeated for ever, as long as another switch is
# under way.
code=11 end=$(($(up) + 120))
mkdir -p "$dir"
rm -f "$dir/half"
while [ $code = 11 ] && [ ! -e "$dir/half" ] && [ "$(up)" -lt "$end" ]; do
	sh -c "$switch" switch "$from" "$dir" back </dev/null
	code=$?
	[ $code != 11 ] || sleep 1
done
# Failed units hide an activation that failed.
ill() {
	journalctl --sync
	journalctl --quiet --output=cat "_SYSTEMD_INVOCATION_ID=$INVOCATION_ID" |
		grep -q -e '^Failed to run activate script$' -e '^Activation script snippet .* failed'
} 2>/dev/null
case $code in
0) rm -f /run/slipway/switching ;;
4) [ -e "$dir/half" ] || ill || rm -f /run/slipway/switching ;;
esac

mkdir -p /var/lib/slipway
{
	echo "from=$to"
	echo "to=$from"
	echo "why=$why"
	echo "cause=$cause"
	echo "code=$code"
	echo "at=$(date -u '+%Y-%m-%dT%H:%M:%SZ')"
} >/var/lib/slipway/reverted.new
mv /var/lib/slipway/reverted.new /var/lib/slipway/reverted
systemctl reset-failed "$unit" 2>/dev/null
rm -f /nix/var/nix/gcroots/slipway-before
exit 0
