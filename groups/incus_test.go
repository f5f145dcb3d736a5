package groups

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestFaultsOfAnInstance(t *testing.T) {
	for _, c := range []struct {
		name     string
		instance Instance
		want     string // empty is none
	}{
		{"nothing said", Instance{}, ""},
		{"a container with a volume", Instance{Volumes: []Volume{{Name: "data", Path: "/var/lib"}}}, ""},
		{"a virtual machine with a disk", Instance{VM: true, Volumes: []Volume{{Name: "data"}}}, ""},
		{"less than nothing", Instance{CPU: -1}, "a limit is below 0"},
		{"a volume without a name", Instance{Volumes: []Volume{{Path: "/x"}}}, `volume "": no name`},
		{"a volume called as the root disk", Instance{Volumes: []Volume{{Name: "root", Path: "/x"}}}, "taken"},
		{"two volumes of one name", Instance{Volumes: []Volume{{Name: "a", Path: "/x"}, {Name: "a", Path: "/y"}}}, "taken"},
		{"a volume nowhere", Instance{Volumes: []Volume{{Name: "a"}}}, "at no path"},
		{"a disk with a path", Instance{VM: true, Volumes: []Volume{{Name: "a", Path: "/x"}}}, "mounts it itself"},
		{"a device of no type", Instance{Devices: []Device{{Name: "gpu"}}}, `device "gpu"`},
		{"a setting without a value", Instance{Config: map[string]string{"limits.cpu": ""}}, `setting "limits.cpu": empty`},
		{"a property without a value", Instance{Devices: []Device{{Name: "gpu", Type: "gpu", Properties: map[string]string{"id": ""}}}}, `device "gpu": property "id" is empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.instance.Check()
			if c.want == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
		})
	}
}
