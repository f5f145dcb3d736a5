#!@busybox@/bin/busybox sh
# Brings the running machine to this system. The steps, their order, the lines
# on standard error and the exit codes are those of NixOS:
#
#   0 done, 1 refused or unusable, 2 activation failed, 4 units failed,
#   11 another run holds the lock, 100 reboot needed, 101 standard error is gone
#
# Where it dies, its code is the number of the last error, whatever that was: 2 is
# also that of a file that is not there, 11 that of a call to be tried again.
#
# Only units that a system of ours put into /etc/systemd/system are stopped,
# restarted or reloaded; those of the machine underneath are none of its
# business.
set -u
export PATH=/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin:@applets@/bin
export LC_ALL=C OUT=@out@ TOPLEVEL=@out@ DISTRO_ID=@distroId@
export INSTALL_BOOTLOADER=@installBootLoader@ PRE_SWITCH_CHECK=@preSwitchCheck@
SYSTEMD=/usr/lib/systemd/systemd

# A lost reader must not kill us in silence: the next line finds out.
trap '' PIPE
log() { echo "$*" >&2 || exit 101; }
die() {
	log "$2"
	exit "$1"
}

action=${1:-}
case $action in
switch | boot | test | dry-activate | check) ;;
*) die 1 "Usage: $0 [switch|boot|test|dry-activate|check]" ;;
esac
[ "$(id -u)" = 0 ] || die 1 "switch-to-configuration must be run as root"
[ -e /etc/NIXOS ] || grep -q "^ID=\"\?$DISTRO_ID\"\?\$" /etc/os-release ||
	die 2 "This is not a NixOS installation!"
export NIXOS_ACTION=$action

run=/run/nixos
mkdir -p $run
exec 9>>$run/switch-to-configuration.lock
flock -n 9 || die 11 "Could not acquire lock"

# Programs of others get the usual handling of signals, and not our lock.
other() { (
	trap - PIPE
	exec 9>&-
	exec "$@"
); }
# What systemctl leaves behind for a moment must not hold our lock.
systemctl() { command systemctl "$@" 9>&-; }

if [ "${NIXOS_NO_CHECK:-}" != 1 ]; then
	other $PRE_SWITCH_CHECK $TOPLEVEL "$action" || die 1 "Pre-switch checks failed"
fi
[ "$action" != check ] || exit 0

case $action in
switch | boot) other $INSTALL_BOOTLOADER $TOPLEVEL || die 1 "Failed to install bootloader" ;;
esac
[ "${NIXOS_NO_SYNC:-}" = 1 ] || sync -f $TOPLEVEL/init 2>/dev/null || sync
[ "$action" != boot ] || exit 0

# A machine without a system of its own has another init. The one underneath, which
# booted as it is and has taken none since, is the exception: NixOS is never there.
taken=/run/taken-system
old=$(readlink -f /run/current-system) || old=
if [ ! -e "$old/init-interface-version" ] && [ ! -L /run/booted-system ] && [ ! -e $taken ]; then
	old=
elif ! cmp -s "$old/init-interface-version" $TOPLEVEL/init-interface-version; then
	log "Warning: the new NixOS configuration has an ‘init’ that is incompatible with the current configuration. The new configuration won't take effect until you reboot the system."
	exit 100
fi

units=etc/systemd/system
states() { systemctl list-units --all --plain --no-legend --full; }
active() { states | awk '$3 == "active" || $3 == "activating" || $3 == "reloading" { print $1 }'; }

# Lists are words in a string, sorted when shown.
shown() { printf '%s\n' "$@" | sort -u | tr '\n' ',' | sed 's/,$//; s/,/, /g'; }
tell() { # SENTENCE UNIT...
	[ $# -gt 1 ] || return 0
	log "$1: $(shift && shown "$@")"
}
has() { case " $1 " in *" $2 "*) return 0 ;; esac; return 1; } # LIST UNIT

file_of() { # SYSTEM UNIT: its file, or that of its template
	local file=$1/$units/$2
	case $2 in *@*.*) [ -e "$file" ] || file=$1/$units/${2%%@*}@.${2##*.} ;; esac
	[ -e "$file" ] || [ -L "$file" ] || return 1
	echo "$file"
}
says() { grep -qiE "^$2=(${3:-true|yes|on|1})\$" "$1"; } # FILE KEY [VALUE]

# What of a unit counts as a change that it restarts for.
ignored='X-Reload-Triggers|Description|Documentation|OnFailure|OnSuccess|OnFailureJobMode|IgnoreOnIsolate'
ignored=$ignored'|StopWhenUnneeded|RefuseManualStart|RefuseManualStop|AllowIsolate|CollectMode|SourcePath'
essence() { # FILE [MORE KEYS]
	awk '/^\[/ { install = $0 == "[Install]" } !install' "$1" | grep -vE "^(($ignored${2:-})=|[#;]|\$)" || :
}
of_key() { grep "^$2=" "$1"; } # FILE KEY

# --- What has to be done.
before=$(active)
stop= start= restart= reload= skip= keep=
for list in start restart reload; do # what an interrupted run left undone
	[ ! -e $run/$list-list ] || eval "$list=\$(tr '\n' ' ' <$run/$list-list)"
done

plan_changed() { # UNIT OLDFILE NEWFILE
	local unit=$1 from=$2 to=$3 socket mild='|ExecReload'
	case $unit in *.mount) mild='|Options' ;; esac
	if [ "$(essence "$from" "$mild")" = "$(essence "$to" "$mild")" ]; then
		# What it reloads for, or nothing at all that counts.
		if [ "$(of_key "$from" X-Reload-Triggers)" != "$(of_key "$to" X-Reload-Triggers)" ] ||
			{ of_key "$to" "${mild#|}" >/dev/null && [ "$(of_key "$from" "${mild#|}")" != "$(of_key "$to" "${mild#|}")" ]; }; then
			reload="$reload $unit"
		fi
		return
	fi
	case $unit in
	sysinit.target | basic.target | multi-user.target | graphical.target | *.path | *.slice | *.socket) return ;;
	-.mount | nix.mount)
		reload="$reload $unit"
		return
		;;
	*.mount)
		restart="$restart $unit"
		return
		;;
	esac
	if says "$to" X-ReloadIfChanged; then
		reload="$reload $unit"
	elif says "$to" X-RestartIfChanged 'false|no|off|0' || says "$to" RefuseManualStop || says "$to" X-OnlyManualStart; then
		skip="$skip $unit"
	elif says "$to" X-StopIfChanged 'false|no|off|0' || [ "${unit##*.}" != service ]; then
		restart="$restart $unit"
	else
		stop="$stop $unit"
		socket=${unit%.*}.socket
		if [ "${unit##*.}" = service ] && [ -e "$TOPLEVEL/$units/$socket" ] && ! says "$to" X-NotSocketActivated; then
			case $nl$before$nl in *"$nl$socket$nl"*)
				stop="$stop $socket"
				start="$start $socket"
				return
				;;
			esac
		fi
		start="$start $unit"
	fi
}

nl='
'
ours() { [ "$(readlink "/etc/systemd/system/$1")" = "/etc/static/systemd/system/$1" ]; } # FILE
theirs() { :; }
plan() { # WHOSE: a test of the units' files
	local unit from to
	for unit in $before; do
		from=$(file_of $old "$unit") && "$1" "${from##*/}" || continue
		if ! to=$(file_of $TOPLEVEL "$unit") || [ "$(readlink "$to")" = /dev/null ]; then
			says "$from" X-StopOnRemoval 'false|no|off|0' || stop="$stop $unit"
			continue
		fi
		case $unit in *.target)
			says "$to" RefuseManualStart || says "$to" X-OnlyManualStart || start="$start $unit"
			! says "$to" X-StopOnReconfiguration || stop="$stop $unit"
			continue
			;;
		esac
		cmp -s "$from" "$to" || plan_changed "$unit" "$from" "$to"
	done
}
[ -z "$old" ] || plan ours

# File systems: new ones are mounted by their target.
mounts() { awk '!/#/ && NF > 2 && $3 != "swap" { print $2, $1, $3, $4 }' "$1" 2>/dev/null; }
while read -r point device kind options; do
	[ -n "$point" ] || continue
	unit=$(systemd-escape --path --suffix=mount "$point")
	read -r there new_device new_kind new_options <<-end
		$(mounts $TOPLEVEL/etc/fstab | awk -v point="$point" '$1 == point')
	end
	if [ -z "$there" ]; then
		case $options in *x-systemd.automount*) unit=${unit%.mount}.automount ;; esac
		stop="$stop $unit"
	elif [ "$device $kind" != "$new_device $new_kind" ]; then
		case $point in
		/ | /nix) [ "$options" = "$new_options" ] && skip="$skip $unit" || reload="$reload $unit" ;;
		*) restart="$restart $unit" ;;
		esac
	elif [ "$options" != "$new_options" ]; then
		reload="$reload $unit"
	fi
done <<end
$(mounts /etc/fstab)
end
swaps() { awk '!/#/ && NF > 2 && $3 == "swap" { print $1 }' "$1" 2>/dev/null; }
for device in $(swaps /etc/fstab); do
	if swaps $TOPLEVEL/etc/fstab | grep -qxF -e "$device"; then
		continue
	elif [ "$action" = dry-activate ]; then
		log "would stop swap device: $device"
	else
		log "stopping swap device: $device"
		swapoff "$device" 2>/dev/null || log "Failed to stop swapping to $device: it can't be"
	fi
done
# Targets of the machine underneath that ours add to.
for unit in $before; do
	case $unit in *.target)
		if [ -d "$TOPLEVEL/$units/$unit.wants" ] || [ -d "$TOPLEVEL/$units/$unit.requires" ]; then
			keep="$keep $unit"
		fi
		;;
	esac
done
reexec=
if ! cmp -s "$old/etc/systemd/system.conf" $TOPLEVEL/etc/systemd/system.conf && [ -n "$old" ]; then
	[ -e "$old/etc/systemd/system.conf" ] || [ -e $TOPLEVEL/etc/systemd/system.conf ] && reexec=yes
fi
list() { # the units of $start without targets, which always are
	listed=
	for unit in $start; do case $unit in *.target) ;; *) listed="$listed $unit" ;; esac; done
}
list

if [ "$action" = dry-activate ]; then
	tell "would stop the following units" $stop
	tell "would NOT stop the following changed units" $skip
	log "would activate the configuration..."
	other $TOPLEVEL/dry-activate "$TOPLEVEL"
	[ -z "$reexec" ] || log "would restart systemd"
	tell "would reload the following units" $reload
	tell "would restart the following units" $restart
	tell "would start the following units" $listed
	exit 0
fi

# --- Doing it.
code=0
systemctl_jobs() { # VERB UNIT...: only jobs that fail count
	local said
	said=$(systemctl "$@" 2>&1)
	[ $? != 0 ] || return 0
	[ -z "$said" ] || log "$said"
	case $said in
	*"Job for "*" failed"* | *"dependency job for"* | *"timed out"*) code=4 ;;
	*"Failed to "*) [ "$1" = stop ] || code=4 ;; # what can't be stopped is not up
	esac
}
undone() { for unit; do echo "$unit"; done; }
undone $start $keep >$run/start-list
undone $restart >$run/restart-list
undone $reload >$run/reload-list

tell "stopping the following units" $stop
[ -z "$stop" ] || systemctl_jobs stop -- $stop
tell "NOT restarting the following changed units" $skip

log "activating the configuration..."
: >$taken
if ! other $TOPLEVEL/activate "$TOPLEVEL"; then
	log "Failed to run activate script"
	code=2
fi

if [ -n "$reexec" ]; then
	log "restarting systemd..."
	timeout 180 systemctl daemon-reexec 9>&- || die 1 "Failed to restart systemd"
fi
systemctl reset-failed || :
timeout 180 systemctl daemon-reload 9>&- || die 1 "Failed to reload systemd"

# Managers of users get the same in small. What fails of their jobs counts, not what
# is failed there, nor how the activation of a user ends.
of_user() { systemctl --user --machine="$user@" "$@"; }
user_jobs() { # VERB UNIT...
	local said unit verb=$1
	[ $# -gt 1 ] || return 0
	shift
	said=$(of_user "$verb" -- "$@" 2>&1) && return 0
	well=
	for unit in $(echo "$said" | sed -n 's/^\(Job\|A dependency job\) for \([^ ]*\) failed.*/\2/p'); do
		log "Failed to $verb user unit $unit"
		failed="$failed $unit"
	done
	echo "$said" | sed -n "s/^Failed to $verb /&user unit /p" >&2
}
user_switch() { # USER
	local user=$1 units=etc/systemd/user before stop= start= restart= reload= skip= listed= failed= well=yes
	if ! mkdir -p "/run/user/$(id -u "$user")/nixos" 2>/dev/null; then
		log "Error: Failed to create /run/user/$(id -u "$user")/nixos"
		return 1
	fi
	if ! before=$(of_user list-units --all --plain --no-legend --full 2>/dev/null); then
		log "Error: Failed to open dbus connection"
		return 1
	fi
	before=$(echo "$before" | awk '$3 == "active" || $3 == "activating" { print $1 }')
	[ -z "$old" ] || plan theirs
	list
	tell "stopping the following user units" $stop
	user_jobs stop $stop
	tell "NOT restarting the following user units" $skip
	of_user daemon-reexec || :
	of_user reset-failed || :
	of_user daemon-reload || :
	tell "reloading the following user units" $reload
	user_jobs reload $reload
	tell "restarting the following user units" $restart
	user_jobs restart $restart
	tell "starting the following user units" $listed
	user_jobs start $start default.target
	if [ -e "$TOPLEVEL/$units/nixos-activation.service" ]; then
		log "restarting the following user units: nixos-activation.service"
		of_user restart nixos-activation.service 2>/dev/null || :
	fi
	[ -z "$failed" ] || log "warning: the following user units failed: $(shown $failed)
See \`systemctl --user status$failed\` for details."
	[ -n "$well" ]
}
# Those who are logged in are known to logind; without it this is the end.
users=$(timeout 25 loginctl list-users --no-legend 9>&-) || die 11 "Unable to list users with logind: no answer"
users=$(echo "$users" | awk '{ print $2 }')
for user in $users; do
	log "reloading user units for $user..."
	if ! user_switch "$user"; then
		log "warning: user activation for $user failed"
		code=4
	fi
done

systemctl_jobs restart -- sysinit-reactivation.target

# What is not up is not reloaded, but started; of a unit that systemd does not know
# the program dies.
up=
for unit in $reload; do
	case $(systemctl list-units --all --plain --no-legend --full -- "$unit" | awk '{ print $3 }') in
	'') die 1 "Error: Failed to get unit $unit" ;;
	active | activating) up="$up $unit" ;;
	*)
		if [ -e "$TOPLEVEL/$units/$unit" ]; then
			start="$start $unit" listed="$listed $unit"
			echo "$unit" >>$run/start-list
		fi
		;;
	esac
done
reload=$up
if [ -n "$reload" ]; then
	tell "reloading the following units" $reload
	systemctl_jobs reload -- $reload
fi
rm -f $run/reload-list
if [ -n "$restart" ]; then
	tell "restarting the following units" $restart
	systemctl_jobs restart -- $restart
fi
rm -f $run/restart-list
tell "starting the following units" $listed
[ -z "$start$keep" ] || systemctl_jobs start -- $start $keep
rm -f $run/start-list

# --- Looking at it, once nothing has moved for a quarter of a second.
end=$(($(date +%s) + 90))
now=$(states)
while [ "$(date +%s)" -lt $end ]; do
	last=$now
	usleep 250000 2>/dev/null || sleep 0.25
	now=$(states)
	[ "$now" != "$last" ] || break
done

new= failed=
for unit in $(echo "$now" | awk '$3 == "active" || $3 == "activating" { print $1 }'); do
	case $nl$before$nl in *"$nl$unit$nl"*) continue ;; esac
	[ ! -e "$TOPLEVEL/$units/$unit" ] || has "$stop $start $restart" "$unit" || new="$new $unit"
done
tell "the following new units were started" $new

failed=$(systemctl list-units --failed --plain --no-legend --full | awk '{ print $1 }')
for unit in $(echo "$now" | awk '$4 == "auto-restart" && $1 ~ /\.service$/ { print $1 }'); do
	[ "$(systemctl show --value -p ExecMainStatus -- "$unit")" = 0 ] || failed="$failed $unit"
done
if [ -n "$failed" ]; then
	log "warning: the following units failed: $(shown $failed)"
	report=$(systemctl status --no-pager --full -- $failed 2>&1) || :
	log "$report"
	code=4
fi
exit $code
