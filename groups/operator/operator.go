// Package operator declares the machines that an operator of services runs.
package operator

import (
	"embed"
	"io/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modules"
)

//go:embed *.nix site
var tree embed.FS

// Group is the operator's machines, a static site and a Forgejo with its
// database, and the domain that they live under.
func Group() groups.Group {
	return groups.Group{
		Name:        "operator",
		Description: "services that an operator runs for other people",
		Methods:     []string{"ssh", "tf", "tf-incus", "tf-incus-operator"},
		Effects:     []string{"image", "dns", "registrars", "netbox"},
		Images: []groups.Image{{
			Name: groups.BaseImage, Description: "a container that waits for its system", Modules: []string{"modules/incus-image.nix"},
		}},
		Zones:       []groups.Zone{{}},
		Delegations: []groups.Delegation{{}},
		Inventory: &groups.Inventory{
			Tenant: "Operator", Site: "Main", Cluster: "main", ClusterType: "Incus", Role: "Service",
			Assets: []groups.Asset{
				{Machine: "web", Services: []groups.Service{{Name: "web", Ports: []string{"tcp/80", "tcp/443"}}}},
				{Machine: "forge", Services: []groups.Service{{Name: "web", Ports: []string{"tcp/80", "tcp/443"}}}},
				{Machine: "db", Role: "Database", Services: []groups.Service{{Name: "postgresql", Ports: []string{"tcp/5432"}}}},
			},
		},
		Source: groups.Source{
			Name:  "operator (baked in)",
			Trees: map[string]fs.FS{"operator": tree, modules.Name: modules.Tree},
		},
		Machines: []groups.Machine{
			{
				Name: "web", Description: "a static site", Names: []string{"@", "www"},
				Modules: []string{"operator/web.nix"}, Placement: groups.External{},
			},
			{
				Name: "forge", Description: "Forgejo",
				Modules: []string{"operator/forge.nix"}, Placement: groups.External{}, Needs: []string{"db"},
				Incus:  groups.Instance{Volumes: []groups.Volume{{Name: "data", Path: "/var/lib/forgejo", Keep: true}}},
				Probes: []groups.Probe{{Name: "forgejo", Ask: groups.HTTP{URL: "http://127.0.0.1:3000/api/healthz"}}},
			},
			{
				Name: "db", Description: "the database of forge", Internal: true,
				Modules: []string{"operator/db.nix"}, Placement: groups.External{},
				Incus:  groups.Instance{Volumes: []groups.Volume{{Name: "data", Path: "/var/lib/postgresql", Keep: true}}},
				Probes: []groups.Probe{{Name: "postgresql", Ask: groups.TCP{Address: "127.0.0.1:5432"}}},
			},
		},
	}
}
