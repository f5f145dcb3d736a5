package nixos

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

const inspected = `nixos=1
os=nixos
hardware=x86_64
current=/nix/store/00000000000000000000000000000000-nixos-system-web-26.05
profile=/nix/store/11111111111111111111111111111111-nixos-system-web-26.05
generation=system-12-link
boot=2b1c3a50-0f3e-4b37-9d6b-8f3c6c6f0001
nix=nix-store (Nix) 2.31.2
free=/dev/vda1        20511312 8123456  11320000      42% /nix/store
tool=zstd
tool=flock
tool=systemctl
tool=systemd-run
switching=slipway-switch-20260102-030405-0a0b0c0d0e.service
switching=slipway-switch-20260102-040506-0a0b0c0d0f.service
pending=/nix/store/11111111111111111111111111111111-nixos-system-web-26.05
`

func TestParseMachine(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want Machine
	}{
		{"a machine in the middle of a switch", inspected, Machine{
			NixOS: true, OS: "nixos", Hardware: "x86_64",
			Current:    "/nix/store/00000000000000000000000000000000-nixos-system-web-26.05",
			Profile:    "/nix/store/11111111111111111111111111111111-nixos-system-web-26.05",
			Generation: 12, BootID: "2b1c3a50-0f3e-4b37-9d6b-8f3c6c6f0001", Nix: "nix-store (Nix) 2.31.2",
			FreeBytes: 11320000 << 10,
			Tools:     map[string]bool{"zstd": true, "flock": true, "systemctl": true, "systemd-run": true},
			Switching: []string{"slipway-switch-20260102-030405-0a0b0c0d0e.service", "slipway-switch-20260102-040506-0a0b0c0d0f.service"},
			Pending:   "/nix/store/11111111111111111111111111111111-nixos-system-web-26.05",
		}},
		{"nothing", "", Machine{Tools: map[string]bool{}}},
		{
			"another system: links that lead nowhere read as themselves",
			"os=debian\nhardware=aarch64\ncurrent=/run/current-system\nprofile=/nix/var/nix/profiles/system\ngeneration=\nnix=\nfree=\npending=\n",
			Machine{OS: "debian", Hardware: "aarch64", Tools: map[string]bool{}},
		},
		{
			"lines of others, as a shell's greeting",
			"Welcome!\nfoo=bar\n\n=\nos=nixos\n",
			Machine{OS: "nixos", Tools: map[string]bool{}},
		},
		{"a value with the sign in it", "os=a=b\n", Machine{OS: "a=b", Tools: map[string]bool{}}},
		{"no line end", "hardware=x86_64", Machine{Hardware: "x86_64", Tools: map[string]bool{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, parseMachine(c.text), c.want)
		})
	}
}

func TestGenerationOf(t *testing.T) {
	for link, want := range map[string]int{
		"system-12-link": 12, "/nix/var/nix/profiles/system-7-link": 7, "system-1-link": 1,
		"": 0, "system": 0, "system-link": 0, "system--link": 0, "system-12": 0, "system-x-link": 0, "default-12-link": 0,
		"system-12-link-1": 0, "/": 0, "system-99999999999999999999-link": 0,
		"/nix/store/00000000000000000000000000000000-nixos-system-web": 0,
	} {
		assert.Equal(t, generationOf(link), want, "%q", link)
	}
}

func TestFreeOf(t *testing.T) {
	for line, want := range map[string]int64{
		"/dev/vda1 20511312 8123456 11320000 42% /nix/store": 11320000 << 10,
		"overlay 5000000000 1 4999999999 1% /":               4999999999 << 10,
		"":                                                   0, "df: /nix/store: No such file or directory": 0, "Filesystem 1024-blocks Used Available Capacity Mounted on": 0,
		"/dev/vda1 1 2": 0,
	} {
		assert.Equal(t, freeOf(line), want, "%q", line)
	}
}

func TestAccept(t *testing.T) {
	good := func() Machine {
		return Machine{NixOS: true, OS: "nixos", Hardware: "x86_64", Nix: "nix-store (Nix) 2.8.0", Tools: map[string]bool{"systemctl": true, "systemd-run": true, "flock": true}}
	}
	for _, c := range []struct {
		name     string
		platform string
		change   func(m *Machine)
		want     []string // nil means accepted
	}{
		{"a good one", "x86_64-linux", func(*Machine) {}, nil},
		{"without /etc/NIXOS but named", "x86_64-linux", func(m *Machine) { m.NixOS = false }, nil},
		{"with /etc/NIXOS but another name", "x86_64-linux", func(m *Machine) { m.OS = "my-nixos" }, nil},
		{"another system", "x86_64-linux", func(m *Machine) { m.NixOS, m.OS = false, "debian" }, []string{`it runs "debian", not NixOS`}},
		{"no Nix", "x86_64-linux", func(m *Machine) { m.Nix = "" }, []string{"no nix-store on the PATH"}},
		{"no systemctl", "x86_64-linux", func(m *Machine) { m.Tools["systemctl"] = false }, []string{"no systemctl on the PATH"}},
		{"no systemd-run", "x86_64-linux", func(m *Machine) { delete(m.Tools, "systemd-run") }, []string{"no systemd-run on the PATH"}},
		{"no flock", "x86_64-linux", func(m *Machine) { delete(m.Tools, "flock") }, []string{"no flock on the PATH"}},
		{"other hardware", "aarch64-linux", func(*Machine) {}, []string{`its hardware is "x86_64", the system is for aarch64-linux`}},
		{"a smaller system on the same hardware", "i686-linux", func(*Machine) {}, nil},
		{"a larger system on smaller hardware", "x86_64-linux", func(m *Machine) { m.Hardware = "i686" }, []string{"hardware"}},
		{"hardware that nobody listed", "loongarch64-linux", func(m *Machine) { m.Hardware = "loongarch64" }, nil},
		{"no hardware named", "x86_64-linux", func(m *Machine) { m.Hardware = "" }, []string{`its hardware is ""`}},
		{
			"everything at once", "aarch64-linux", func(m *Machine) { *m = Machine{OS: "debian", Hardware: "x86_64"} },
			[]string{"not NixOS", "no nix-store", "no systemctl", "its hardware"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := good()
			c.change(&m)
			err := m.Accept(c.platform)
			if c.want == nil {
				assert.NilError(t, err)
				return
			}
			assert.Equal(t, report.CodeOf(err), report.Refused)
			for _, text := range c.want {
				assert.ErrorContains(t, err, text)
			}
		})
	}
}

func TestCompressionFor(t *testing.T) {
	for _, c := range []struct {
		name  string
		tools map[string]bool
		want  string
	}{
		{"the best", map[string]bool{"zstd": true, "gzip": true}, "zstd -dqc"},
		{"the second best", map[string]bool{"gzip": true}, "gzip -dc"},
		{"none", nil, "cat"},
		{"tools of other kinds", map[string]bool{"flock": true}, "cat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Machine{Tools: c.tools}.compressionFor().unpack, c.want)
		})
	}
}

func TestParseGenerations(t *testing.T) {
	const a, b = "/nix/store/00000000000000000000000000000000-a", "/nix/store/11111111111111111111111111111111-b"
	got := parseGenerations("system-10-link "+b+" 1764543600\nsystem-2-link "+a+" \nsystem-9-link "+a+"\n\nsomething else\nsystem-x-link "+a+"\n", 9)
	assert.DeepEqual(t, got, []Generation{
		{Number: 2, Toplevel: a},
		{Number: 9, Toplevel: a, Current: true},
		{Number: 10, Toplevel: b, Made: time.Date(2025, 11, 30, 23, 0, 0, 0, time.UTC)},
	})
	assert.Equal(t, len(parseGenerations("", 3)), 0)
}

// TestInspectScript asks a machine what is under way on it.
func TestInspectScript(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, units       string
		switching, guards []string
	}{
		{name: "nothing"},
		{name: "a switch", units: "slipway-switch-a.service loaded active exited x", switching: []string{"slipway-switch-a.service"}},
		{
			name: "a switch and its guard", units: "slipway-guard-a.service loaded active running x\nslipway-switch-a.service loaded active running x",
			switching: []string{"slipway-switch-a.service"}, guards: []string{"slipway-guard-a.service"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			m.write("bin/systemctl", "#!/bin/sh\nprintf '%s' '"+c.units+"'\n")
			out, err := m.output(inspectScript)
			assert.NilError(t, err)
			machine := parseMachine(out)
			assert.DeepEqual(t, machine.Switching, c.switching)
			assert.DeepEqual(t, machine.Guards, c.guards)
			assert.Assert(t, !machine.Deaf)
		})
	}
	t.Run("a systemd that does not answer", func(t *testing.T) {
		t.Parallel()
		m := newMachine(t, "")
		m.write("bin/systemctl", "#!/bin/sh\nexit 1\n")
		out, err := m.output(inspectScript)
		assert.NilError(t, err)
		assert.Assert(t, parseMachine(out).Deaf)
	})
}
