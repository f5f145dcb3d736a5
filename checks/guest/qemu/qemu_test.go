package qemu

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
)

func TestMachineCommandLine(t *testing.T) {
	for _, c := range []struct {
		name    string
		machine Machine
	}{
		{"booting", Machine{
			Name: "web", UUID: "u", Accel: Emulated(), MemoryMiB: 512, Kernel: "/k", Initrd: "/i", Disk: "/d", Forward: []int{22},
		}},
		{"restored with everything", Machine{
			Name: "web", UUID: "u", Accel: Accel{KVM, "host"}, MemoryMiB: 1024, Kernel: "/k", Initrd: "/i", Disk: "/a,b/d",
			Forward: []int{22, 80}, RAM: "/a,b/ram", Share: true, Incoming: true, Detach: true,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.machine.Args()
			golden.Assert(t, strings.Join(args, "\n")+"\n", t.Name()+".golden")
			// What must hold whatever the file says: no port is chosen by us,
			// nothing listens elsewhere, nothing leaves.
			for _, arg := range args {
				if strings.Contains(arg, "hostfwd") {
					assert.Equal(t, strings.Count(arg, "hostfwd="), strings.Count(arg, "hostfwd=tcp:127.0.0.1:0-:"))
					assert.Assert(t, strings.Contains(arg, "restrict=on"))
				}
			}
		})
	}
}

func TestForwardsAreRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[int]int
		err        string
	}{
		{"two forwards and a connection", `Hub -1 (net):
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ
  TCP[ESTABLISHED]   17       127.0.0.1 40955       10.0.2.15    22     0     0
  TCP[HOST_FORWARD]  13       127.0.0.1 43495       10.0.2.15    80     0     0
  TCP[HOST_FORWARD]  12       127.0.0.1 40955       10.0.2.15    22     0     0
`, map[int]int{80: 43495, 22: 40955}, ""},
		{"none", "Hub -1 (net):\n", map[int]int{}, ""},
		{"something else at the place of a port", "TCP[HOST_FORWARD] 1 127.0.0.1 x 10.0.2.15 22 0 0\n", nil, `read forwards: line "TCP[HOST_FORWARD] 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseUsernet(c.text)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				return
			}
			assert.NilError(t, err)
			assert.DeepEqual(t, got, c.want)
		})
	}
}
