// Package ssh is the method that deploys to a NixOS machine that is there: it
// builds here, copies over ssh, switches there, and judges. It also serves the
// machines that Slipway boots on the host it runs on, which it boots first.
package ssh

import (
	"slices"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/targets/task"
)

// Name is how programs call the method.
const Name = "ssh"

// Method deploys over ssh.
type Method struct {
	host    deploy.Host
	standIn nixos.StandIn
}

// New makes the method. host and standIn serve the machines that Slipway boots
// itself; without such machines they may be nil.
func New(host deploy.Host, standIn nixos.StandIn) *Method {
	return &Method{host: host, standIn: standIn}
}

// Name is "ssh".
func (m *Method) Name() string { return Name }

// Description says the method in one line.
func (m *Method) Description() string {
	return "build here, copy and switch over ssh to a NixOS machine that is there"
}

var verbs = []task.Verb{
	{Name: task.Apply, Description: "deploys and judges"},
	{Name: "plan", Description: "shows what apply would change on"},
	{Name: "verify", Description: "judges without changing"},
	{Name: "rollback", Description: "goes back to a generation of", Arguments: []task.Argument{{Key: "GENERATION", Optional: true}}},
	{Name: "generations", Description: "lists the generations of"},
	{Name: "build", Description: "builds the system of"},
}

var destroyVerb = task.Verb{Name: "destroy", Description: "removes every trace of"}

// Verbs lists what can be done with a machine; one that Slipway booted can be
// destroyed too.
func (m *Method) Verbs(p groups.Placement) []task.Verb {
	if _, local := p.(groups.Local); local {
		return append(slices.Clip(verbs), destroyVerb)
	}
	return verbs
}

// Task makes one run of a verb.
func (m *Method) Task(d methods.Deployment, verb string) task.Task {
	reach := deploy.Reach{Way: &deploy.Declared{}, Deployment: d}
	booted := &deploy.Booted{Host: m.host, Deployment: d}
	if _, local := d.Machine.Placement.(groups.Local); local {
		reach.Way = booted
	}
	switch verb {
	case "plan":
		return deploy.Plan(reach, nixos.NewBlueprint(d, m.standIn))
	case "rollback":
		return deploy.Rollback(reach)
	case "verify":
		return deploy.Verify(reach)
	case "generations":
		return deploy.Generations(reach)
	case "build":
		return nixos.SystemTask{Blueprint: nixos.NewBlueprint(d, m.standIn)}
	case destroyVerb.Name:
		return deploy.Destroy(booted)
	default:
		return deploy.Apply(reach, nixos.NewBlueprint(d, m.standIn))
	}
}
