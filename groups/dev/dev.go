// Package dev declares the machine that needs nothing: Slipway boots it on the
// host it runs on, so that everything can be tried without a machine of one's
// own.
package dev

import (
	"embed"
	"io/fs"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/modules"
)

//go:embed *.nix site
var tree embed.FS

// Group is one local machine with a static site.
func Group() groups.Group {
	const http = 80
	return groups.Group{
		Name:        "dev",
		Description: "a machine to try things on, booted on this host",
		Methods:     []string{"ssh", "tf"},
		Source: groups.Source{
			Name:  "dev (baked in)",
			Trees: map[string]fs.FS{"dev": tree, modules.Name: modules.Tree},
		},
		Machines: []groups.Machine{
			{
				Name: "local", Description: "a static site on a virtual machine of this host",
				Modules:   []string{"dev/local.nix"},
				Placement: groups.Local{MemoryMiB: 512, DiskMiB: 2048, Forward: []int{http}, Answers: http},
				Probes:    []groups.Probe{{Name: "site", Ask: groups.HTTP{URL: "http://127.0.0.1/"}}},
			},
		},
	}
}
