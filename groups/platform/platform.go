// Package platform declares a provider's house as one group.
package platform

import "fediversity.eu/slipway/groups"

// Group is a provider's house from the ground up: a host, the provider's own machines
// on it, and then those of an operator, in the project that the provider gave them.
func Group() groups.Group {
	return groups.Group{
		Name:        "platform",
		Description: "a provider's whole house, with its hypervisor, its machines on it, and an operator's",
		Parts: []groups.Part{
			{Group: "hypervisor", Method: "ssh"},
			{Group: "hosting-provider", Method: "tf-incus"},
			{Group: "operator", Method: "tf-incus-operator"},
		},
	}
}
