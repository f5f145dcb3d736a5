// Package incus says how machines are made on an Incus server, by resources of its
// provider for OpenTofu. There are two methods: tf-incus is for who runs the server,
// or may do with it what he likes; tf-incus-operator for who was let into a project
// with a restricted certificate, and makes nothing that such a certificate may not.
//
// New machines start from an image of the group's, and are updated over ssh from
// then on: a newer image is no reason to make a machine again. Its host key is made
// by the machine itself and read from it through the server, so that nobody has to
// keep one, and the first connection is as pinned as any later one. What opens it is
// put there the same way, so that images hold no keys and serve everybody.
package incus

import (
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/made"
)

// Maker makes machines on Incus.
type Maker struct{ restricted bool }

// New is for unrestricted certificates.
func New() *Maker { return &Maker{} }

// Restricted is for certificates that are restricted to a project.
func Restricted() *Maker { return &Maker{restricted: true} }

// Name is how programs call the method.
func (m *Maker) Name() string {
	if m.restricted {
		return "tf-incus-operator"
	}
	return "tf-incus"
}

// Description says the method in one line.
func (m *Maker) Description() string {
	if m.restricted {
		return "make on Incus, within a project and with a certificate restricted to it, and deploy as by tf"
	}
	return "make on Incus, and deploy as by tf"
}

// Machine is one machine, there or not.
func (m *Maker) Machine(d methods.Deployment) made.Machine {
	return &machine{deployment: d, restricted: m.restricted}
}
