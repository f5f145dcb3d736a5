# One file a unit, and links from where it is wanted.
mkdir -p $out
n=0
printf %s "$names" | while read -r name kind links; do
	if [ $kind = mask ]; then
		ln -s /dev/null "$out/$name"
	else
		eval cp "\"\$unit${n}Path\"" '"$out/$name"'
	fi
	n=$((n + 1))
	for link in $links; do
		case $link in
		*/*)
			mkdir -p "$out/${link%/*}"
			ln -s "../$name" "$out/$link"
			;;
		*) ln -s "$name" "$out/$link" ;;
		esac
	done
done
