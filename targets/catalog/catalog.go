// Package catalog is what this repository declares: its groups, its methods and
// its effects, each list in one place. Everything that can be run follows from it.
package catalog

import (
	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/effects/dns"
	"fediversity.eu/slipway/effects/image"
	"fediversity.eu/slipway/effects/netbox"
	"fediversity.eu/slipway/effects/registrars"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/groups/dev"
	"fediversity.eu/slipway/groups/hostingprovider"
	"fediversity.eu/slipway/groups/hypervisor"
	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/groups/platform"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/incus"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/ssh"
	"fediversity.eu/slipway/methods/tf"
	"fediversity.eu/slipway/targets/program"
)

// Groups lists the declared groups.
func Groups() []groups.Group {
	return []groups.Group{operator.Group(), hostingprovider.Group(), hypervisor.Group(), platform.Group(), dev.Group()}
}

// Registry makes the registry of everything that is declared.
func Registry() (*program.Registry, error) {
	return program.New(Groups(), Methods(), nixos.Systems(standIn), Effects()...)
}

// Methods lists the methods.
func Methods() []methods.Method {
	return []methods.Method{ssh.New(localHost{}, standIn), tf.New(localHost{}, standIn), tf.Making(incus.New()), tf.Making(incus.Restricted())}
}

// Effects lists the effects, in the order in which they follow the machines.
func Effects() []effects.Effect {
	images := image.New(func(g groups.Group, i groups.Image) image.Blueprint { return nixos.NewImage(g, i, standIn) })
	return []effects.Effect{images, dns.New(), registrars.New(), netbox.New()}
}
