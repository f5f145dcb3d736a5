# Makes a system the one that the machine boots next.
#
# Arguments: its toplevel; its generation, empty for a new one.
PATH=/run/current-system/sw/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
profile=/nix/var/nix/profiles/system

before=$(readlink $profile)
if [ -n "$2" ]; then
	nix-env --profile $profile --switch-generation "$2" || exit 70
else
	nix-env --profile $profile --set "$1" || exit 70
fi
"$1/bin/switch-to-configuration" boot </dev/null
code=$?
if [ $code = 0 ]; then
	rm -f /run/slipway/switching
	# What was proved, for whoever asks later what to go back to. Where that can't be
	# noted, the default at boot counts.
	mkdir -p /var/lib/slipway && printf '%s\n' "$1" >/var/lib/slipway/proved.new &&
		mv /var/lib/slipway/proved.new /var/lib/slipway/proved || rm -f /var/lib/slipway/proved
	exit 0
fi
# A system that the boot loader does not know is no default.
before=${before#system-}
[ -z "$before" ] || nix-env --profile $profile --switch-generation "${before%-link}"
exit $code
