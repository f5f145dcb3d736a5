// Package tf is the method that deploys a machine as a resource of OpenTofu, with
// its state in the caller's backend: what runs there is planned, drifts, is
// imported and destroyed as any other resource. The machine is reached and judged
// as by ssh; this program itself serves the provider that does it.
package tf

import (
	"slices"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/inherent"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the method.
const Name = "tf"

// Method deploys by OpenTofu.
type Method struct {
	host    deploy.Host
	standIn nixos.StandIn
	maker   made.Maker // nil where machines are there, or booted
}

// New makes the method. host and standIn serve the machines that Slipway boots
// itself; without such machines they may be nil. A program that has the method
// gives its Front the Helper supervisor.Main.
func New(host deploy.Host, standIn nixos.StandIn) *Method {
	return &Method{host: host, standIn: standIn}
}

// Making is the method that first makes machines, by resources of OpenTofu as well.
func Making(maker made.Maker) *Method { return &Method{maker: maker} }

// Name is "tf", or what the maker says.
func (m *Method) Name() string {
	if m.maker != nil {
		return m.maker.Name()
	}
	return Name
}

// Description says the method in one line.
func (m *Method) Description() string {
	if m.maker != nil {
		return m.maker.Description()
	}
	return "deploy as by ssh, as a resource of OpenTofu with its state in a backend"
}

var verbs = []task.Verb{
	{Name: tofu.Apply, Description: "deploys and judges"},
	{Name: tofu.Destroy, Description: "gives up the state of"},
	{Name: tofu.PlanVerb, Description: "shows what apply would change on"},
	{Name: tofu.Refresh, Description: "brings the state up to date with"},
	{Name: tofu.Validate, Description: "validates the configuration of"},
	{Name: tofu.Output, Description: "prints the outputs of the state of"},
	{Name: tofu.Show, Description: "prints the state of"},
	{Name: tofu.StateList, Description: "lists what is in the state of"},
	{Name: tofu.StateShow, Description: "shows one object in the state of", Arguments: []task.Argument{{Key: "ADDRESS"}}},
	{Name: tofu.Import, Description: "takes what is there into the state of", Arguments: []task.Argument{{Key: "ADDRESS"}, {Key: "ID"}}},
	{Name: tofu.ForceUnlock, Description: "gives back a lock on the state of", Arguments: []task.Argument{{Key: "LOCK_ID"}}},
}

// Verbs lists what can be done with a machine, which is the same wherever it is:
// OpenTofu's verbs, and those for the machine behind the state. One that Slipway
// boots is made by nobody else.
func (m *Method) Verbs(where groups.Placement) []task.Verb {
	if _, local := where.(groups.Local); local && m.maker != nil {
		return nil
	}
	all := slices.Concat(verbs, deploy.Verbs())
	if m.maker != nil {
		all[slices.IndexFunc(all, func(v task.Verb) bool { return v.Name == tofu.Destroy })].Description = "removes"
	}
	return all
}

// Task makes one run of a verb.
func (m *Method) Task(d methods.Deployment, verb string) task.Task {
	reach, booted := deploy.WayTo(m.host, d)
	var making made.Machine
	placement := ""
	if m.maker != nil {
		making = m.maker.Machine(d)
		reach.Way, booted, placement = making, nil, making.Placement()
	}
	reach.Way = located{reach.Way}
	if t := deploy.Task(reach, verb); t != nil {
		return t
	}
	return &verbTask{
		verb: verb, reach: reach, booted: booted, made: making,
		blueprint: nixos.NewBlueprint(d, m.standIn).At(placement), inherent: inherent.Of(d.Machine),
	}
}
