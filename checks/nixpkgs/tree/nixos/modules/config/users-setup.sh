# Adds the declared groups and accounts that the machine lacks. An account that
# is there stays as it is: the machine's own way in must survive.
_etc=${ETC_ROOT:-/etc}

_free() { # a file of accounts, a number, a step: the first from there that nobody has
	awk -F: -v n="$2" -v step="$3" '{ seen[$3] = 1 } END { while (n in seen) n += step; print n }' "$1"
}

while IFS=: read -r _name _gid; do
	grep -q "^$_name:" "$_etc/group" && continue
	[ "$_gid" != - ] || _gid=$(_free "$_etc/group" 999 -1)
	echo "$_name:x:$_gid:" >>"$_etc/group"
done <"$declaredGroups"

while IFS=: read -r _name _uid _group _home _shell _create; do
	if ! grep -q "^$_name:" "$_etc/passwd"; then
		case $_uid in
		-) _uid=$(_free "$_etc/passwd" 999 -1) ;; # a service's
		+) _uid=$(_free "$_etc/passwd" 1000 1) ;; # a person's
		esac
		_gid=$(awk -F: -v name="$_group" '$1 == name { print $3 }' "$_etc/group")
		if [ -z "$_gid" ]; then
			echo "user $_name is in group $_group, which does not exist" >&2
			false
			continue
		fi
		echo "$_name:x:$_uid:$_gid::$_home:$_shell" >>"$_etc/passwd"
		[ ! -e "$_etc/shadow" ] || echo "$_name:*:1::::::" >>"$_etc/shadow"
	fi
	if [ "$_create" = true ] && [ ! -d "$_home" ]; then
		mkdir -p "$_home"
		chown "$_name:$_group" "$_home"
		chmod 700 "$_home"
	fi
done <"$declaredUsers"
