// Package hostingprovider declares the machines that a hosting provider runs
// for its operators.
package hostingprovider

import (
	"embed"
	"io/fs"
	"net/http"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modules"
)

//go:embed *.nix
var tree embed.FS

// Group is the provider's machines: the way in, and where state is kept.
func Group() groups.Group {
	return groups.Group{
		Name:        "hosting-provider",
		Description: "what a hosting provider runs for its operators",
		Methods:     []string{"ssh", "tf", "tf-incus"},
		Effects:     []string{"image"},
		Images: []groups.Image{{
			Name: groups.BaseImage, Description: "a container that waits for its system", Modules: []string{"modules/incus-image.nix"},
		}},
		Source: groups.Source{
			Name:  "hosting-provider (baked in)",
			Trees: map[string]fs.FS{"hostingprovider": tree, modules.Name: modules.Tree},
		},
		Machines: []groups.Machine{
			{
				Name: "gateway", Description: "the way in from outside",
				Modules: []string{"hostingprovider/gateway.nix"}, Placement: groups.External{},
				Probes: []groups.Probe{{Name: "web server", Ask: groups.HTTP{URL: "http://127.0.0.1/", Status: http.StatusNotFound}}}, // no site is of this name
			},
			{
				Name: "state", Description: "where deployments keep their state",
				Modules: []string{"hostingprovider/state.nix"}, Placement: groups.External{},
				Probes: []groups.Probe{{Name: "postgresql", Ask: groups.TCP{Address: "127.0.0.1:5432"}}},
			},
		},
	}
}
