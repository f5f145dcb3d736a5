// Package modules holds the reusable NixOS modules: the behaviour of services
// and hosts, and no concrete machine, identity or secret.
package modules

import "embed"

// Name is the folder under which modules of groups import these.
const Name = "modules"

// Tree is the modules.
//
//go:embed *.nix
var Tree embed.FS
