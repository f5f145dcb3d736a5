package nixos

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// FuzzEffect reads what a dry activation may say: no unit that was not named, and
// none left out of a line that is known.
func FuzzEffect(f *testing.F) {
	for _, said := range []string{
		"would stop the following units: a.service, b.service\nreboot=kernel\n", "would start the following units: \n", "reboot=",
		"would restart the following units: mnt-my\\x2ddata.mount\r\n", ": ", "would NOT restart the following changed units: x,,y", "\xff: \x1b[2J",
	} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		e := parseEffect(said)
		for _, list := range [][]string{e.Stop, e.Start, e.Restart, e.Reload, e.Skip, e.Reboot} {
			for _, unit := range list {
				assert.Assert(t, unit != "" && unit == strings.TrimSpace(unit) && (!strings.Contains(unit, ",") || slices.Contains(e.Reboot, unit)), "%q", unit)
				assert.Assert(t, strings.Contains(said, unit))
			}
		}
		if !strings.Contains(said, "would stop") && said != "" && said[len(said)-1] == '\n' {
			more := parseEffect(said + "would stop the following units: a.service, b.service\n")
			assert.DeepEqual(t, more.Stop, []string{"a.service", "b.service"})
		}
	})
}

// FuzzClosure reads what a machine says of a closure, and compares it with itself.
func FuzzClosure(f *testing.F) {
	h := "/nix/store/" + strings.Repeat("a", 32) + "-"
	for _, text := range []string{h + "web-1.2\n" + h + "db\n\n1\n22\n", "", "\n\n", "x\n\n-1", h + "\n\n9223372036854775807\n", "a a\n\n1 1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := parseClosure(text)
		if err != nil {
			return
		}
		assert.Assert(t, len(paths) > 0)
		same := Compare(paths, paths)
		assert.Assert(t, len(same.Added) == 0 && len(same.Removed) == 0 && len(same.Packages) == 0)
		fresh := Compare(nil, paths)
		assert.Equal(t, len(fresh.Added), len(paths))
		assert.Assert(t, slices.IsSortedFunc(fresh.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) }))
		for _, p := range paths {
			assert.Assert(t, p.Size >= 0)
			name, version := nameAndVersion(p.Name)
			assert.Assert(t, strings.HasSuffix(p.Name, version) && strings.Contains(p.Name, name))
		}
	})
}
