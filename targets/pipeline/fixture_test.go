package pipeline_test

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/task"
)

// club is a registry of a web server and its database, with few keys.
func club(t *testing.T) *program.Registry {
	t.Helper()
	group := groups.Group{
		Name: "club", Description: "machines of the club", Methods: []string{"fake"}, Effects: []string{"names", "bell"},
		Machines: []groups.Machine{
			{Name: "web", Description: "a site", Modules: []string{"web.nix"}, Placement: groups.External{}},
			{Name: "db-1", Description: "its database", Modules: []string{"db.nix"}, Placement: groups.External{}, Internal: true},
		},
	}
	r, err := program.New([]groups.Group{group}, []methods.Method{way{}}, func(methods.Deployment) task.Task { return work{} },
		effect{"names", []any{&address.Keys{}}}, effect{"bell", nil})
	assert.NilError(t, err)
	return r
}

// effect is one that follows the machines.
type effect struct {
	name string
	keys []any
}

func (e effect) Name() string                        { return e.name }
func (effect) Description() string                   { return "has no effect" }
func (effect) Check(groups.Group) error              { return nil }
func (e effect) Task(groups.Group, string) task.Task { return e }
func (e effect) Coordinates() []any                  { return e.keys }
func (effect) Run(context.Context, *task.Run) error  { return nil }
func (effect) Verbs(groups.Group) []task.Verb {
	return []task.Verb{{Name: task.Apply, Description: "applies"}}
}

// way is a method that deploys nothing.
type way struct{}

func (way) Name() string                              { return "fake" }
func (way) Description() string                       { return "deploys nothing" }
func (way) Task(methods.Deployment, string) task.Task { return work{} }
func (way) Verbs(groups.Placement) []task.Verb {
	return []task.Verb{{Name: task.Apply, Description: "applies"}}
}

type work struct{}

func (work) Run(context.Context, *task.Run) error { return nil }

func (work) Coordinates() []any {
	return []any{&struct {
		Host  env.Host   `env:"FAKE_HOST,required" scope:"machine" desc:"name or address of the machine"`
		Token env.Secret `env:"FAKE_TOKEN" desc:"what opens the machine"`
		Phase string     `env:"STATE_PHASE,default=steady" oneof:"steady,cold" desc:"whether there is a state"`
	}{}}
}
