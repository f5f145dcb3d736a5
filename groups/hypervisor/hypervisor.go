// Package hypervisor declares the hosts that machines of others run on.
package hypervisor

import (
	"embed"
	"io/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modules"
)

//go:embed *.nix
var tree embed.FS

// Group is the hosts that run Incus.
func Group() groups.Group {
	return groups.Group{
		Name:        "hypervisor",
		Description: "hosts that machines of others run on",
		Methods:     []string{"ssh", "tf"},
		Source: groups.Source{
			Name:  "hypervisor (baked in)",
			Trees: map[string]fs.FS{"hypervisor": tree, modules.Name: modules.Tree},
		},
		Machines: []groups.Machine{
			{
				Name: "hv1", Description: "an Incus host",
				Modules: []string{"hypervisor/hv1.nix"}, Placement: groups.External{},
			},
		},
	}
}
