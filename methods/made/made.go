// Package made says what a machine is that OpenTofu makes before it is deployed to:
// by resources of a provider that others wrote, beside which the machine's system
// is a resource like any other. The method tf runs it; who makes machines only says
// of what they are made and where they are then.
package made

import (
	"context"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/tofu/ledger"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

// Maker is a kind of place where machines are made.
type Maker interface {
	// Name is how programs call the method.
	Name() string
	Description() string
	Machine(methods.Deployment) Machine
}

// Machine is one machine, whether it is there or not. As a Way it finds the one
// that is, and Up waits until it can be logged in to.
type Machine interface {
	deploy.Way
	// Keys are those that a verb of OpenTofu reads beyond the way's own.
	Keys(verb string) []any
	// CheckKeys looks at all of them before anything starts.
	CheckKeys(verb string) error
	// Placement is what the machine's modules are told of where it runs.
	Placement() string
	// Gone is an error while something is there of what Parts made and a destroy
	// removes: what a killed run made may be in no state.
	Gone(ctx context.Context, run *task.Run) error
	// Parts are the resources that make it.
	Parts(ctx context.Context, run *task.Run, verb string) (Parts, error)
}

// Provider is a provider and its one version.
type Provider struct {
	Source  string `json:"source"`
	Version string `json:"version"`
}

// Parts are what OpenTofu gets beside the machine's system.
type Parts struct {
	Files map[string][]byte     // of the configuration
	Vars  map[string]env.Secret // its variables
	// Requires are the providers, by their local names, with source and version.
	Requires map[string]Provider
	// Touched is an expression whose value is unknown to a plan that makes or
	// touches the machine, so that its system is looked after in the same run.
	Touched string
	// Mirror is a folder that providers are taken from; empty means the registry.
	Mirror string
	// Keeps is as in tofu.Deployment.
	Keeps bool
	// Stays is as in tofu.Deployment.
	Stays func(kind string) bool
	// Adopts is as in tofu.Deployment.
	Adopts func(ledger.Object) bool
}
