case $2 in
boot | dry-activate)
	echo "Not checking switch inhibitors (action = $2)"
	exit 0
	;;
esac
old=/run/current-system/switch-inhibitors
if [ -e "$old" ]; then
	differing=$(awk -F '": "' '
		{ sub(/,$/, "") }
		FNR == NR { was[$1] = $0; next }
		$1 in was && was[$1] != $0 { print substr($1, 2) }' "$old" "$1/switch-inhibitors")
	if [ -n "$differing" ]; then
		echo "Checking switch inhibitors... these differ from the running system:" $differing
		echo "Reboot into the new system instead: use the action boot."
		exit 1
	fi
fi
echo "Checking switch inhibitors... done"
