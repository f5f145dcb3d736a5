package deploy

import (
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/task"
)

// The verbs for a machine that is there, however it came to be.
const (
	verifyVerb      = "verify"
	rollbackVerb    = "rollback"
	generationsVerb = "generations"
)

// Verbs lists what can be done with a machine that is there, by whatever method.
func Verbs() []task.Verb {
	return []task.Verb{
		{Name: verifyVerb, Description: "judges without changing"},
		{Name: rollbackVerb, Description: "goes back to a generation of", Arguments: []task.Argument{{Key: "GENERATION", Optional: true}}},
		{Name: generationsVerb, Description: "lists the generations of"},
	}
}

// Task makes one run of one of Verbs, and nil for any other verb.
func Task(reach Reach, verb string) task.Task {
	switch verb {
	case verifyVerb:
		return Verify(reach)
	case rollbackVerb:
		return Rollback(reach)
	case generationsVerb:
		return Generations(reach)
	}
	return nil
}

// WayTo is the way to the machine of a deployment. For one that host boots, booted is
// that way, and nil for any other.
func WayTo(host Host, d methods.Deployment) (reach Reach, booted *Booted) {
	if _, local := d.Machine.Placement.(groups.Local); local {
		booted = &Booted{Host: host, Deployment: d}
		return Reach{Way: booted, Deployment: d}, booted
	}
	return Reach{Way: &Declared{}, Deployment: d}, nil
}
