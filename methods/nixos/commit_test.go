package nixos

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// aProfile is a machine with a profile of three generations.
func aProfile(t *testing.T) aMachine {
	t.Helper()
	m := newMachine(t, "")
	m.on(`mkdir -p profiles boot/loader/entries esp/loader/entries one two three four
for system in one two three four; do ln -s ../bin $system/bin; done
ln -s "$PWD/one" profiles/system-1-link; ln -s "$PWD/two" profiles/system-2-link; ln -s "$PWD/three" profiles/system-3-link
ln -s system-3-link profiles/system; ln -s "$PWD/three" current-system`)
	m.write("bin/nix-env", `#!/bin/sh
cd `+m.dir.Join("profiles")+`
newest() { ls -d system-*-link | sed 's/system-\(.*\)-link/\1/' | sort -n | tail -n 1; }
case $3 in
--switch-generation) ln -sfn "system-$4-link" system ;;
--delete-generations) rm "system-$4-link" ;;
--set)
	n=$(newest)
	[ "$(readlink "system-$n-link")" = "$4" ] || { n=$((n + 1)); ln -s "$4" "system-$n-link"; }
	ln -sfn "system-$n-link" system ;;
esac
`)
	m.on("chmod 755 bin/nix-env")
	return m
}

// on runs a script of the test's in the machine's folder.
func (m aMachine) on(script string) {
	m.t.Helper()
	assert.NilError(m.t, m.run("cd "+m.dir.Path()+"\n"+script))
}

// builder is what systemd-boot's program for NixOS does with the two newest
// generations: it names an entry by a hash, or as it was given, and the default
// only where it has an entry for it.
const builder = `asked=$(cat asked) default='nixos-*' partition=$(cat partition)
rm -f "$partition"/loader/entries/*
for n in $(ls -d profiles/system-*-link | sed 's/.*system-\(.*\)-link/\1/' | sort -n | tail -n 2); do
	system=$(readlink "profiles/system-$n-link")
	echo "options init=$system/init quiet" >"$partition/loader/entries/nixos-generation-$n$(cat counter).conf"
	[ "$system" != "$asked" ] || default="nixos-generation-$n.conf"
done
{ echo "timeout 5"; [ ! -s counter ] || echo "preferred $default"; [ -s counter ] && default='nixos-*'; echo "default $default"; } >"$partition/loader/loader.conf"
`

func TestCommitScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		to         string
		generation string
		partition  string // with a systemd-boot
		counter    string // with boot counting
		program    string // more of the boot loader's program
		code       int
		profile    string // afterwards
		made       bool   // a generation more is there
	}{
		{name: "a new system", to: "four", profile: "system-4-link", made: true},
		{name: "a new system, by systemd-boot", to: "four", partition: "boot", profile: "system-4-link", made: true},
		{name: "a new system, by systemd-boot that counts", to: "four", partition: "boot", counter: "+3", profile: "system-4-link", made: true},
		{name: "a new system, by systemd-boot on a partition of its own", to: "four", partition: "esp", profile: "system-4-link", made: true},
		{name: "the system of the newest generation", to: "three", partition: "boot", profile: "system-3-link"},
		{name: "a generation", to: "two", generation: "2", partition: "boot", profile: "system-2-link"},
		{name: "a generation that the boot menu has no more", to: "one", generation: "1", partition: "boot", profile: "system-4-link", made: true},
		{name: "the same, by systemd-boot that counts", to: "one", generation: "1", partition: "boot", counter: "+3", profile: "system-4-link", made: true},
		{name: "the same, by another boot loader", to: "one", generation: "1", profile: "system-1-link"},
		{name: "a default that somebody else chose", to: "four", partition: "boot", program: `echo 'default @saved' >boot/loader/loader.conf`, profile: "system-4-link", made: true},
		{name: "a boot loader whose entries others write elsewhere", to: "four", partition: "boot", program: `rm boot/loader/entries/*; echo 'default nixos-*' >boot/loader/loader.conf`, profile: "system-4-link", made: true},
		{name: "a default whose entry is not to be found", to: "four", partition: "boot", program: `echo 'default nixos-elsewhere.conf' >boot/loader/loader.conf`, profile: "system-4-link", made: true},
		{name: "an entry of which another's name is the beginning", to: "four", partition: "boot", program: `mv boot/loader/entries/nixos-generation-4.conf boot/loader/entries/nixos-generation-34.conf; echo 'default nixos-generation-3.conf' >boot/loader/loader.conf`, code: 71, profile: "system-3-link"},
		{name: "a boot loader that refuses", to: "four", program: "exit 1", code: 1, profile: "system-3-link"},
		{name: "a boot loader that refuses a generation", to: "one", generation: "1", program: "exit 1", code: 1, profile: "system-3-link"},
		{name: "a boot loader that refuses the newest", to: "three", program: "exit 1", code: 1, profile: "system-3-link"},
		{name: "a boot loader that never boots what it should", to: "four", partition: "boot", program: `echo 'default nixos-*' >boot/loader/loader.conf; rm -f $(grep -l "init=$asked/init" boot/loader/entries/*)`, code: 71, profile: "system-3-link"},
		{name: "the same, with a generation", to: "one", generation: "1", partition: "boot", program: `echo 'default nixos-*' >boot/loader/loader.conf; rm -f $(grep -l "init=$asked/init" boot/loader/entries/*)`, code: 71, profile: "system-3-link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := aProfile(t)
			program := ""
			if c.partition != "" {
				program = builder
			}
			m.write("program", program+c.program)
			m.write("asked", m.dir.Join(c.to)+"\n")
			m.write("partition", c.partition+"\n")
			m.write("counter", c.counter)
			m.write("run/switching", m.dir.Join(c.to)+"\n")
			script := strings.NewReplacer("/nix/var/nix/profiles", m.dir.Join("profiles"), "/boot/efi /efi", m.dir.Join("esp"), "/boot/loader", m.dir.Join("boot/loader"), "in /boot", "in "+m.dir.Join("boot"),
				"/run/current-system/sw/bin", m.dir.Join("bin")).Replace(commitScript)
			assert.Equal(t, m.exitCode(m.run(script, m.dir.Join(c.to), c.generation)), c.code)
			m.on(`readlink profiles/system >default; [ ! -e profiles/system-4-link ] || touch made`)
			assert.Equal(t, strings.TrimSpace(m.read("default")), c.profile)
			_, err := m.output(`[ -e ` + m.dir.Join("made") + ` ]`)
			assert.Equal(t, err == nil, c.made)
			assert.Equal(t, m.read("run/switching") == "", c.code == 0, "it stays pending until it is the default")
			assert.Equal(t, m.read("lib/proved") != "", c.code == 0)
		})
	}
}
