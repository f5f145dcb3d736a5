# Makes a system the one that the machine boots next.
#
# Arguments: its toplevel; its generation, empty for a new one.
PATH=/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
profile=/nix/var/nix/profiles/system

# Tells whether systemd-boot, where it is the boot loader, boots a system. Its
# program for NixOS writes entries for the newest generations only, and ends well
# without the system that it was asked for (nixpkgs, systemd-boot-builder.py).
boots() {
	for esp in /boot /boot/efi /efi; do
		[ -f $esp/loader/loader.conf ] || continue
		entry=$(sed -n -e 's/^preferred  *//p' -e 's/^default  *//p' $esp/loader/loader.conf | head -n 1)
		case $entry in
		nixos*) ;;
		*) return 0 ;; # somebody else's choice
		esac
		# With a pattern, it wrote none for the system. A name may have a counter. Where no
		# such file is there, others write what is booted, and it can't be told.
		seen=
		for file in $esp/loader/entries/$entry $esp/loader/entries/${entry%.conf}+*.conf \
			/boot/loader/entries/$entry /boot/loader/entries/${entry%.conf}+*.conf; do
			[ -f "$file" ] || continue
			! grep -q -F "init=$1/init" "$file" || return 0
			seen=1
		done
		[ -z "$seen" ]
		return
	done
}
# Makes the system a new generation, and notes which one if there was none of it.
new() {
	there=" $(cd ${profile%/*} && echo system-*-link) "
	nix-env --profile $profile --set "$1" || exit 70
	made=$(readlink $profile)
	case $there in
	*" $made "*) made= ;;
	esac
}
boot() {
	"$1/bin/switch-to-configuration" boot </dev/null
	code=$?
	[ $code != 0 ] || boots "$1" || code=71
}

before=$(readlink $profile) made=
if [ -n "$2" ]; then
	nix-env --profile $profile --switch-generation "$2" || exit 70
else
	new "$1"
fi
boot "$1"
if [ $code = 71 ] && [ -n "$2" ]; then
	echo "slipway: generation $2 is too old for the boot menu; it becomes a new one"
	new "$1"
	boot "$1"
fi
if [ $code = 0 ]; then
	rm -f /run/slipway/switching
	# What was proved, for whoever asks later what to go back to. Where that can't be
	# noted, the default at boot counts.
	mkdir -p /var/lib/slipway && printf '%s\n' "$1" >/var/lib/slipway/proved.new &&
		mv /var/lib/slipway/proved.new /var/lib/slipway/proved || rm -f /var/lib/slipway/proved
	exit 0
fi
# A system that the boot loader does not know is no default, and no generation that
# the next one has to be put beside.
if [ -n "$before" ]; then
	before=${before#system-} made=${made#system-}
	nix-env --profile $profile --switch-generation "${before%-link}" &&
		{ [ -z "$made" ] || nix-env --profile $profile --delete-generations "${made%-link}"; }
fi
exit $code
