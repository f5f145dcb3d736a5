// Package effects says what a standalone step of a group is that is no machine:
// its names, its delegation, its inventory. Each effect is a folder below; none
// knows another, and none knows how machines are deployed.
package effects

import (
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/task"
)

// Effect is a standalone step. Its programs are called <group>-<effect>[-<verb>].
type Effect interface {
	Name() string
	Description() string
	// Verbs lists what can be done for a group; none where the group declares
	// nothing that the effect is about.
	Verbs(group groups.Group) []task.Verb
	// Task makes one run of a verb, one of Verbs.
	Task(group groups.Group, verb string) task.Task
}

// Preparer is an effect that comes before the machines of a combined run, and not
// after them: it makes what they are made of.
type Preparer interface {
	// Prepares is the verb that takes place in a run of a verb by a method; none
	// where the method has no use for it.
	Prepares(method, verb string) string
}

// Checker is an effect that can tell what is wrong with what a group declares for
// it, before there are any coordinates.
type Checker interface {
	Check(group groups.Group) error
}
