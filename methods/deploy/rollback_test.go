package deploy

import (
	"bytes"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/report"
)

func TestChoose(t *testing.T) {
	list := []nixos.Generation{
		{Number: 3, Toplevel: "/nix/store/a"},
		{Number: 4, Toplevel: "/nix/store/b"},
		{Number: 7, Toplevel: "/nix/store/c", Current: true},
		{Number: 9, Toplevel: "/nix/store/d"},
	}
	for _, c := range []struct {
		name    string
		list    []nixos.Generation
		running string
		number  int
		want    int
		err     string
	}{
		{"the one before the default", list, "/nix/store/c", 0, 4, ""},
		{"one that is asked for", list, "/nix/store/c", 3, 3, ""},
		{"one after the default that is asked for", list, "/nix/store/c", 9, 9, ""},
		{"the one that runs", list, "/nix/store/c", 7, 7, ""},
		{"the default where another runs", list, "/nix/store/x", 0, 7, ""},
		{"the one before that is another system", []nixos.Generation{
			{Number: 1, Toplevel: "/nix/store/a"}, {Number: 2, Toplevel: "/nix/store/c"}, {Number: 7, Toplevel: "/nix/store/c", Current: true},
		}, "/nix/store/c", 0, 1, ""},
		{"one that is not there", list, "/nix/store/c", 5, 0, "no generation 5, it has 3, 4, 7, 9"},
		{"none before", list[2:], "/nix/store/c", 0, 0, "no generation before 7"},
		{"no generation at all", nil, "/nix/store/c", 0, 0, "no generation before"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.list, nixos.Machine{Current: c.running, Generation: 7}, c.number)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Equal(t, report.CodeOf(err), report.Refused)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got.Number, c.want)
		})
	}
}

func TestAPlanIsShown(t *testing.T) {
	d := nixos.Compare(
		[]nixos.Path{{Name: "/nix/store/00000000000000000000000000000000-nginx-1.24", Size: 3 << 20}},
		[]nixos.Path{{Name: "/nix/store/11111111111111111111111111111111-nginx-1.26", Size: 1 << 20}},
	)
	var out bytes.Buffer
	assert.NilError(t, show(&out, "", "/nix/store/new", d, nixos.Effect{Restart: []string{"nginx.service", "x.service"}, Reboot: []string{"kernel"}}))
	assert.Equal(t, out.String(), `from nothing
  to /nix/store/new

  ~ nginx 1.24 → 1.26  -2.0 MiB

1 paths added, 1 removed; closure 1.0 MiB, -2.0 MiB
would restart: nginx.service, x.service
only a reboot would bring in: kernel
`)
}
