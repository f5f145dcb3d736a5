# Brings /etc in line with the new system: /etc/static leads to its tree, each
# file of the tree gets a link or a copy in /etc, and what an earlier system put
# there and this one lacks goes away.
#
# The machine under this system has an /etc of its own. A file that the machine
# cannot do without (its way in, its users, its units) is left as it is.
_etc=${ETC_ROOT:-/etc}
_state=${STATE_ROOT:-/var/lib/nixos}
_nl='
'
mkdir -p "$_etc" "$_state"
ln -sfn "$systemConfig/etc" "$_etc/.static.new"
mv -T "$_etc/.static.new" "$_etc/static"
_record=$_state/etc-entries
[ -e "$_record" ] || : >"$_record"
_ours=$_nl$(cat "$_record")$_nl
_placed=

_needed() {
	case $1 in
	ssh/authorized_keys.d/*) return 1 ;;
	fstab | group | machine-id | nix/* | os-release | passwd | shadow | ssh/* | systemd/*) return 0 ;;
	esac
	return 1
}

_place() { # a path below /etc
	local name=$1 to=$_etc/$1 from=$_etc/static/$1 ours=no mode owner
	case $_ours in *"$_nl$name$_nl"*) ours=yes ;; esac
	if [ $ours = no ] && { [ -e "$to" ] || [ -L "$to" ]; } && _needed "$name"; then
		return 0
	fi
	if [ -d "$to" ] && [ ! -L "$to" ]; then
		echo "/etc/$name is a directory and is left alone" >&2
		return 0
	fi
	_placed=$_placed$name$_nl
	if [ -e "$from.mode" ]; then
		read -r mode <"$from.mode"
		read -r owner <"$from.owner"
		mkdir -p "${to%/*}"
		cp -L "$from" "$to.tmp$$"
		chown "$owner" "$to.tmp$$"
		chmod "$mode" "$to.tmp$$"
		mv -T "$to.tmp$$" "$to"
	elif [ $ours = no ] || [ ! -L "$to" ]; then
		mkdir -p "${to%/*}"
		ln -sfn "/etc/static/$name" "$to.tmp$$"
		mv -T "$to.tmp$$" "$to"
	fi
}

# The directory of units is itself a link, and so are directories of others:
# only the former is gone into.
for _name in $(cd "$_etc/static/" && find . ! -type d ! -name '*.mode' ! -name '*.owner' ! -path ./systemd/system | sed 's#^\./##'); do
	_place "$_name"
done
if [ -d "$_etc/static/systemd/system" ]; then
	for _name in $(cd "$_etc/static/systemd/system/" && find . ! -type d | sed 's#^\.#systemd/system#'); do
		_place "$_name"
	done
fi

while read -r _name; do
	case $_nl$_placed in *"$_nl$_name$_nl"*) continue ;; esac
	rm -f "$_etc/$_name"
	rmdir "$_etc/${_name%/*}" 2>/dev/null || :
done <"$_record"
printf %s "$_placed" >"$_record.new"
mv "$_record.new" "$_record"
