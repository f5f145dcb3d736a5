mkdir -p $out/bin $out/specialisation
ln -s $etc/etc $out/etc
ln -s $path $out/sw
ln -s $systemd $out/systemd
cp $switchInhibitors $out/switch-inhibitors
printf %s "$label" >$out/nixos-version
printf %s "$platform" >$out/system
printf %s "$initInterfaceVersion" >$out/init-interface-version

program() { # FROM TO
	sed -e "s#@out@#$out#g" -e "s#@busybox@#$busybox#g" -e "s#@applets@#$applets#g" \
		-e "s#@distroId@#$distroId#g" -e "s#@installBootLoader@#$installBootLoader#g" \
		-e "s#@preSwitchCheck@#$preSwitchCheck#g" "$1" >"$2"
	chmod 555 "$2"
	busybox sh -n "$2"
}
program "$activationScriptPath" $out/activate
program "$dryActivationScriptPath" $out/dry-activate
program "$initScriptPath" $out/init
if [ -n "$canSwitch" ]; then
	program $switchToConfiguration $out/bin/switch-to-configuration
fi
. "$extraCommandsPath"
