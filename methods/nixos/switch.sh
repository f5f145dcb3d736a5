# Brings the running machine to a system by its switch program, and a second time
# where that one died after it had activated the system: what it left undone stands
# in lists that a repetition takes up (nixpkgs, switch-to-configuration-ng).
#
# Arguments: the toplevel; a folder of its own; "back" for a way back, which the
# system's own checks must not veto.
to=$1 dir=$2
PATH=/run/current-system/sw/bin:$to/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
lists=/run/nixos
[ "$3" != back ] || export NIXOS_NO_CHECK=1

# Notes that the machine is on its way. What was noted before is kept, for a switch
# that leaves all as it was.
note() {
	[ -e "$dir/before" ] || cat /run/slipway/switching >"$dir/before" 2>/dev/null || : >"$dir/before" || return 1
	echo "$to" >/run/slipway/switching
}
# Runs what follows unless a switch of somebody else is under way.
alone() {
	[ -d $lists ] || return 1
	(
		flock -n 9 || exit 1
		"$@" 9>&-
	) 9>>$lists/switch-to-configuration.lock
}
# A program that asks to reload a unit that systemd does not know dies of it, each
# time. One that is not up is started instead, if it is the system's own.
mend() {
	[ -s $lists/reload-list ] || return 0
	: >"$dir/reload" || return 0
	while read -r unit; do
		case $(systemctl show --value --property=ActiveState -- "$unit") in
		inactive | failed)
			echo "slipway: a switch before left $unit to be reloaded, but it is not up"
			[ ! -e "$to/etc/systemd/system/$unit" ] || echo "$unit" >>$lists/start-list
			;;
		*) echo "$unit" >>"$dir/reload" ;;
		esac
	done <$lists/reload-list
	cat "$dir/reload" >$lists/reload-list
}
# What this run has left undone.
left() {
	for list in start restart reload; do
		if [ -s $lists/$list-list ] && ! [ $lists/$list-list -ot "$dir/began" ]; then return 0; fi
	done
	return 1
}
current() { readlink -f /run/current-system; }
# Codes are not enough: the program also ends with whatever error number was there
# last (errno). 0 is the end of all that was to be done, 100 a way never begun.
half() {
	case $code in
	0 | 100) return 1 ;;
	2 | 4 | 11) ;;
	*) [ "$before" = "$to" ] || [ "$(current)" != "$to" ] || return 0 ;;
	esac
	alone left
}
once() {
	alone mend
	: >"$dir/began"
	before=$(current)
	"$to/bin/switch-to-configuration" test </dev/null
	code=$?
}

note || [ "$3" = back ] || exit 1
rm -f "$dir/half"
once
if [ $code -lt 126 ] && half; then
	if [ "$(current)" = "$to" ]; then
		echo "slipway: the switch program died half-way (exit code $code); once more"
		once
	fi
	! half || : >"$dir/half"
fi
# A signal stays one.
[ $code -le 128 ] || kill -$((code - 128)) $$
exit $code
