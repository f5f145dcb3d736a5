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

# answer and refusal print what another manager said, which must not look like the
# begin of yet another.
answer() { printf '\n\n%s\n\n%s\n' "$1" "$(printf '%s\n' "$said" | sed -e '/^User=/d' -e '/^Container=/d')"; }
refusal() { printf '\n\n%s\nRefused=%s\n' "$1" "$(printf '%s\n' "${said:-no answer}" | tr '\n' ' ')"; }

# The managers of users answer nobody but their user, who may have them say
# anything, but of nobody else.
for socket in /run/user/*/systemd/private; do
	[ -S "$socket" ] || continue
	dir=${socket%/systemd/private}
	uid=${dir##*/}
	if said=$(XDG_RUNTIME_DIR=$dir timeout 10 setpriv --reuid="$uid" --regid="$(stat -c %g "$dir")" --clear-groups -- \
		systemctl --user show --all --property=$properties "$@" 2>&1); then
		answer "User=$uid"
	else
		refusal "User=$uid"
	fi
done

# systemd-machined has a file for each machine that runs on this one. Nothing is
# run in a container but what systemctl sends to its bus: what enters only some of
# its name spaces could be taken over from inside.
for machine in /run/systemd/machines/*; do
	[ -f "$machine" ] && [ ! -L "$machine" ] || continue
	name=${machine##*/} class= leader= unit=
	while IFS='=' read -r property value; do
		case $property in
		Class) class=$value ;;
		Leader) leader=$value ;;
		Unit) unit=$value ;;
		esac
	done <<-END
		$(timeout 10 machinectl show --property=Class --property=Leader --property=Unit -- "$name" 2>/dev/null)
	END
	[ "$class" = container ] || continue
	about="Container=$name
Unit=$unit
Leader=$leader"
	if [ ! -d "/proc/$leader/root/run/systemd/system" ]; then # it was booted with something else: sd_booted(3)
		printf '\n\n%s\n' "$about"
	elif said=$(timeout 10 systemctl --machine="$name" show --all --property=$properties "$@" 2>&1); then
		answer "$about"
	else
		refusal "$about"
	fi
done
printf '\n\nEnd=yes\n'
