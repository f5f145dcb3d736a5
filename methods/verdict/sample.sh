properties=Id,LoadState,LoadError,ActiveState,SubState,Result,ReloadResult,Type,Restart,RestartUSec,RestartUSecNext,RemainAfterExit,NRestarts,InvocationID,Job,ExecMainCode,ExecMainStatus,ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic,ActiveEnterTimestampMonotonic,ActiveExitTimestampMonotonic,InactiveEnterTimestampMonotonic,StateChangeTimestampMonotonic,ConditionResult,ConditionTimestampMonotonic,AssertResult,AssertTimestampMonotonic,Requires,BindsTo,Requisite,Triggers,TriggeredBy,WantedBy,RequiredBy,BoundBy,RequisiteOf,UpheldBy,Conflicts,ConflictedBy,Names,Transient,FragmentPath,DropInPaths,WatchdogUSec,RuntimeMaxUSec,NextElapseUSecRealtime,NextElapseUSecMonotonic,LastTriggerUSec,RemainAfterElapse,TimersMonotonic,TimersCalendar,ExecStart
# Devices and slices have nothing that could fail, and a machine has many of them.
# The target that it starts at boot is among them under whatever name it has.
set -- default.target '*.service' '*.socket' '*.timer' '*.path' '*.mount' '*.automount' '*.swap' '*.target' '*.scope'
export LC_ALL=C

now= marks=
while read -r a b n rest; do
	[ "$a $b" != "now at" ] || { now=$n && break; }
done 2>/dev/null </proc/timer_list
read -r uptime rest </proc/uptime
echo "Boot=$(cat /proc/sys/kernel/random/boot_id)"
echo "Now=$now"
echo "Uptime=$uptime"
echo "Clock=$(date +%s.%N)"
echo "Activated=$(stat -c %.Y /run/current-system 2>/dev/null)"
echo "System=$(readlink -f /run/current-system)"
echo "Cursor=$(journalctl --quiet --lines=0 --show-cursor 2>/dev/null)"
for mark in /run/slipway/ran/*; do
	[ ! -f "$mark" ] || { read -r ran <"$mark" && marks="$marks ${mark##*/} $ran"; }
done
echo "Ran=$marks"
echo
systemctl show --all --property=$properties "$@" || exit

# The managers of users answer nobody but their user, who may have them say
# anything, but of nobody else.
for socket in /run/user/*/systemd/private; do
	[ -S "$socket" ] || continue
	dir=${socket%/systemd/private}
	uid=${dir##*/}
	if said=$(XDG_RUNTIME_DIR=$dir timeout 10 setpriv --reuid="$uid" --regid="$(stat -c %g "$dir")" --clear-groups -- \
		systemctl --user show --all --property=$properties "$@" 2>&1); then
		printf '\n\nUser=%s\n\n%s\n' "$uid" "$(printf '%s\n' "$said" | sed '/^User=/d')"
	else
		printf '\n\nUser=%s\nRefused=%s\n' "$uid" "$(echo "$said" | tr '\n' ' ')"
	fi
done
printf '\n\nEnd=yes\n'
