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

// The verbs beside those for a machine that is there.
var (
	applyVerb   = task.Verb{Name: task.Apply, Description: "deploys and judges"}
	planVerb    = task.Verb{Name: "plan", Description: "shows what apply would change on"}
	buildVerb   = task.Verb{Name: "build", Description: "builds the system of"}
	destroyVerb = task.Verb{Name: "destroy", Description: "removes every trace of"}
)

// Verbs lists what can be done with a machine; one that Slipway booted can be
// destroyed too.
func (m *Method) Verbs(p groups.Placement) []task.Verb {
	verbs := slices.Concat([]task.Verb{applyVerb, planVerb}, deploy.Verbs(), []task.Verb{buildVerb})
	if _, local := p.(groups.Local); local {
		verbs = append(verbs, destroyVerb)
	}
	return verbs
}

// Task makes one run of a verb.
func (m *Method) Task(d methods.Deployment, verb string) task.Task {
	reach, booted := deploy.WayTo(m.host, d)
	if t := deploy.Task(reach, verb); t != nil {
		return t
	}
	switch verb {
	case planVerb.Name:
		return deploy.Plan(reach, nixos.NewBlueprint(d, m.standIn))
	case buildVerb.Name:
		return nixos.SystemTask{Blueprint: nixos.NewBlueprint(d, m.standIn)}
	case destroyVerb.Name:
		return deploy.Destroy(booted)
	default:
		return deploy.Apply(reach, nixos.NewBlueprint(d, m.standIn))
	}
}
