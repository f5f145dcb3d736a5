// Package methods says what a way of deploying is. Each method is a folder below;
// none knows another. What two of them need stands in a package of its own beside
// them.
package methods

import (
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Method is a way in which a machine comes to be and gets its system.
type Method interface {
	Name() string
	Description() string
	// Verbs lists what can be done with a machine that lives there.
	Verbs(groups.Placement) []task.Verb
	// Task makes one run of a verb, one of Verbs.
	Task(d Deployment, verb string) task.Task
}

// Deployment is one machine of one group.
type Deployment struct {
	Group   groups.Group
	Machine groups.Machine
}
