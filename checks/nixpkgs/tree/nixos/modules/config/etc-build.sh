# Lays the entries out as a tree of links; a copy has its mode and its owner in
# files beside it.
mkdir -p $out/etc
while IFS='	' read -r target source mode owner; do
	file=$out/etc/$target
	mkdir -p "${file%/*}"
	if [ -e "$file" ] || [ -L "$file" ]; then
		[ "$(readlink "$file")" = "$source" ] && continue
		echo "duplicate entry $target -> $source" >&2
		exit 1
	fi
	ln -s "$source" "$file"
	if [ "$mode" != symlink ]; then
		echo "$mode" >"$file.mode"
		echo "$owner" >"$file.owner"
	fi
done <"$entriesPath"
