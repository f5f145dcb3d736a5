package nixos

import (
	"testing"

	"gotest.tools/v3/assert"
)

const h = "/nix/store/00000000000000000000000000000000-"

func TestNameAndVersion(t *testing.T) {
	for path, want := range map[string][2]string{
		h + "nginx-1.26.2":                       {"nginx", "1.26.2"},
		h + "nginx-1.26.2-doc":                   {"nginx", "1.26.2-doc"},
		h + "linux-6.12.8-modules":               {"linux", "6.12.8-modules"},
		h + "system-units":                       {"system-units", ""},
		h + "unit-nginx.service":                 {"unit-nginx.service", ""},
		h + "python3.12-requests-2.32.3":         {"python3.12-requests", "2.32.3"},
		h + "nixos-system-web-25.11":             {"nixos-system-web", "25.11"},
		h + "a-":                                 {"a-", ""},
		h + "":                                   {"", ""},
		"short":                                  {"short", ""},
		h + "gcc-wrapper-13.3.0":                 {"gcc-wrapper", "13.3.0"},
		h + "hello--1":                           {"hello", "-1"},
		h + "libfoo-unstable-2024-01-01":         {"libfoo-unstable", "2024-01-01"},
		h + "X-Restart-Triggers-nginx":           {"X-Restart-Triggers-nginx", ""},
		"/nix/store/" + "0123-not-a-hash-1.0-x":  {"0123-not-a-hash", "1.0-x"},
		h + "nixos-system-hv1-25.11.20260101.ab": {"nixos-system-hv1", "25.11.20260101.ab"},
	} {
		name, version := nameAndVersion(path)
		assert.Equal(t, [2]string{name, version}, want, path)
	}
}

func TestCompare(t *testing.T) {
	path := func(hash, name string, size int64) Path {
		return Path{Name: "/nix/store/" + hash + "0000000000000000000000000000000-" + name, Size: size}
	}
	before := []Path{path("a", "busybox-1.36", 100), path("b", "nginx-1.24", 50), path("c", "etc", 10), path("d", "gone-1", 5), path("k", "same", 7)}
	after := []Path{path("a", "busybox-1.36", 100), path("e", "nginx-1.26", 70), path("f", "etc", 11), path("g", "come", 3), path("k", "same", 7)}
	d := Compare(before, after)
	var lines []string
	for _, p := range d.Packages {
		lines = append(lines, p.String())
	}
	assert.DeepEqual(t, lines, []string{"+ come (no version)", "~ etc (no version)", "- gone 1", "~ nginx 1.24 → 1.26"})
	assert.Equal(t, len(d.Added), 3)
	assert.Equal(t, len(d.Removed), 3)
	assert.Equal(t, d.Before, int64(172))
	assert.Equal(t, d.After, int64(191))
	assert.Equal(t, d.Packages[3].Bytes, int64(20))

	same := Compare(before, before)
	assert.Equal(t, len(same.Packages)+len(same.Added)+len(same.Removed), 0)
	first := Compare(nil, after)
	assert.Equal(t, len(first.Added), len(after))
	assert.Equal(t, len(first.Removed), 0)

	several := Compare([]Path{path("a", "gcc-13", 1), path("b", "gcc-12", 1)}, []Path{path("c", "gcc-14", 1), path("d", "gcc-14", 1)})
	assert.Equal(t, several.Packages[0].String(), "~ gcc 12, 13 → 14")
}

func TestParseClosure(t *testing.T) {
	paths, err := parseClosure(h + "a\n" + h + "b\n\n1\n22\n")
	assert.NilError(t, err)
	assert.DeepEqual(t, paths, []Path{{h + "a", 1}, {h + "b", 22}})
	for text, want := range map[string]string{
		"":                      "0 sizes for 0 paths",
		h + "a\n":               "0 sizes for 1 paths",
		h + "a\n\n1\n2\n":       "2 sizes for 1 paths",
		h + "a\n\nmany\n":       "size of " + h + "a",
		"\n\n1\n":               "1 sizes for 0 paths",
		h + "a\n" + h + "b\n\n": "0 sizes for 2 paths",
	} {
		_, err := parseClosure(text)
		assert.ErrorContains(t, err, want, "%q", text)
	}
}

func TestParseEffect(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Effect
	}{
		{name: "nothing"},
		{name: "what is no effect", text: "Checking switch inhibitors... done\nwould activate the configuration...\nsomeone says: hello\n"},
		{"units to stop", "would stop the following units: a.service, srv.mount", Effect{Stop: []string{"a.service", "srv.mount"}}},
		{"swap to stop", "would stop swap device: /dev/disk/by-label/swap", Effect{Stop: []string{"swap on /dev/disk/by-label/swap"}}},
		{
			"swap to stop, whose name looks like a list", "would stop swap device: /dev/a,b: c\n",
			Effect{Stop: []string{"swap on /dev/a,b: c"}},
		},
		{"units left alone", "would NOT stop the following changed units: -.mount, x.service", Effect{Skip: []string{"-.mount", "x.service"}}},
		{"units left alone, of an older program", "would NOT restart the following changed units: x.service", Effect{Skip: []string{"x.service"}}},
		{"systemd to restart", "would restart systemd\n", Effect{Restart: []string{"systemd"}}},
		{"units to restart", "would restart the following units: c.service", Effect{Restart: []string{"c.service"}}},
		{"units to reload", "would reload the following units: dbus.service", Effect{Reload: []string{"dbus.service"}}},
		{"units to start", "would start the following units: a.service,d.timer", Effect{Start: []string{"a.service", "d.timer"}}},
		{"a reboot", "reboot=kernel\nreboot=initrd\n", Effect{Reboot: []string{"kernel", "initrd"}}},
		{
			"all, in the program's order", `would stop swap device: /dev/vdb
would stop the following units: a.service
would NOT stop the following changed units: display-manager.service
would activate the configuration...
WARN: restarting or reloading systemd units from the activation script is deprecated and will be removed in NixOS 26.11.
would restart systemd
would reload the following units: dbus.service
would restart the following units: c.service
would start the following units: a.service
reboot=kernel
`, Effect{
				Stop: []string{"swap on /dev/vdb", "a.service"}, Skip: []string{"display-manager.service"}, Restart: []string{"systemd", "c.service"},
				Reload: []string{"dbus.service"}, Start: []string{"a.service"}, Reboot: []string{"kernel"},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, parseEffect(c.text), c.want) })
	}
}

func TestADryRunThatNeedsAReboot(t *testing.T) {
	m := newMachine(t, "")
	m.write("code", "100")
	out, err := m.output(dryScript, m.dir.Path())
	assert.NilError(t, err)
	assert.DeepEqual(t, parseEffect(out).Reboot[:1], []string{"init interface"})
	m.write("code", "1")
	_, err = m.output(dryScript, m.dir.Path())
	assert.Error(t, err, "exit status 1")
}

func TestParseInhibitors(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []string
		err  string
	}{
		{"two that differ", `{"dbus":"dbus","x":"1","y":"2"} {"dbus":"broker","x":"2","y":"2"}`, []string{"dbus", "x"}, ""},
		{"the same", `{"dbus":"dbus"}` + "\n" + `{"dbus":"dbus"}`, nil, ""},
		{"one of them alone counts for nothing", `{"a":"1"} {"b":"1"}`, nil, ""},
		{"none", `{} {}`, nil, ""},
		{"half of it", `{}`, nil, "EOF"},
		{"nothing", ``, nil, "EOF"},
		{"something else", `<html>`, nil, "invalid character"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseInhibitors([]byte(c.text))
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got, c.want)
		})
	}
}

func TestHowACommitEnded(t *testing.T) {
	for _, c := range []struct {
		ended Switched
		text  string
	}{
		{Switched{Code: 0, Result: "success"}, ""},
		{Switched{Code: 1, Result: "exit-code"}, "the switch program failed (exit code 1)"},
		{Switched{Code: 1, Result: "exit-code", Said: said("No space left on device", "Failed to install bootloader")}, "the boot loader can't be installed (exit code 1)"},
		{Switched{Code: 1, Result: "exit-code", Said: refusal}, "its pre-switch check no refuses (exit code 1)"},
		{Switched{Code: 1, Result: "exit-code", Said: said("Pre-switch checks failed")}, "its pre-switch checks refuse (exit code 1)"},
		{Switched{Code: 1, Result: "exit-code", Said: said("Error: Failed to sync /nix/store")}, "the switch program failed (exit code 1)"},
		{Switched{Code: 2, Result: "exit-code", Said: said("This is not a NixOS installation!")}, "the switch program failed (exit code 2)"},
		{Switched{Code: 71, Result: "exit-code"}, "systemd-boot boots another system"},
		{Switched{Code: 70, Result: "exit-code"}, "the system profile can't be set"},
		{Switched{Code: 11, Result: "exit-code", Said: locked}, "another switch is under way"},
		{Switched{Code: 15, Result: "signal"}, "it was ended: signal"},
		{Switched{Code: 0, Result: "timeout"}, "it was ended: timeout"},
	} {
		err := c.ended.CommitErr()
		if c.text == "" {
			assert.NilError(t, err)
			continue
		}
		assert.ErrorContains(t, err, c.text)
	}
}

func TestAMachineTellsThatItWentBack(t *testing.T) {
	m := parseMachine(inspected + "guard=slipway-guard-1.service\nreverted-from=/nix/store/b\nreverted-to=/nix/store/a\nreverted-why=for 60 s = too long\nreverted-code=4\nreverted-at=2026-11-29T20:00:00Z\nreboot=kernel\n")
	assert.DeepEqual(t, m.Reverted, &Reverted{From: "/nix/store/b", To: "/nix/store/a", Why: "for 60 s = too long", Code: 4, At: "2026-11-29T20:00:00Z"})
	assert.Equal(t, m.Reverted.String(), "at 2026-11-29T20:00:00Z the machine went back by itself from /nix/store/b to /nix/store/a: for 60 s = too long (the switch back ended with exit code 4)")
	assert.DeepEqual(t, m.Guards, []string{"slipway-guard-1.service"})
	assert.DeepEqual(t, m.Reboot, []string{"kernel"})
	assert.Equal(t, Guarded(m.Guards[0]).Unit, "slipway-switch-1.service")
	assert.Equal(t, Guarded(m.Guards[0]).guard(), m.Guards[0])
	assert.Equal(t, parseMachine("reverted-code=x\n").Reverted.Code, crashed, "what can't be read is no success")
}
