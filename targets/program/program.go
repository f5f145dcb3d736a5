// Package program says what can be run: programs and their names, the registry
// of all of them, and one run from coordinates to exit code.
//
// A program is one thing that can be run: one verb of one method on one
// machine, the same for a whole group, a standalone effect of a group, or the
// system of a machine. Its name is
//
//	<group>-<method>-<machine>[-<verb>]
//	<group>-<method>-all[-<verb>]        every published machine of the group
//	<group>-<method>-combined[-<verb>]   the whole group, in order of dependency
//	<group>-all[-<verb>], <group>-combined[-<verb>]   by the group's first method
//	<group>-combined[-<verb>]            all that a group of other groups is made of
//	<group>-<effect>[-<verb>]            a standalone effect of the group
//	<group>-<machine>                    the NixOS system of a machine
//
// where a name without a verb means apply. The Mage target of a program is the
// same name in camel case, with the group as its namespace: operator-ssh-web-apply
// is operator:sshWebApply.
package program

import (
	"fediversity.eu/slipway/targets/task"
)

// Program is one thing that can be run.
type Program struct {
	Name        string // canonical, with its verb: "operator-ssh-web-apply"
	Short       string // the name without a verb, where that means this program too
	Target      string // of Mage: "operator:sshWebApply"
	Description string // one line
	Group       string
	Method      string // empty for an effect and for the system of a machine
	Effect      string // empty for all but an effect
	Machine     string // empty for an effect and for an aggregate
	Verb        string // empty for the system of a machine
	Internal    bool   // not offered to front-ends
	Kind        Kind
}

// Kind is what a program works on.
type Kind string

// The kinds of programs.
const (
	Deployment Kind = "deployment" // one machine by one method
	System     Kind = "system"     // the NixOS system of one machine
	Standalone Kind = "standalone" // an effect, which is no machine
	All        Kind = "all"        // every published machine of a group, independently
	Combined   Kind = "combined"   // a whole group, in order of dependency
)

// Aggregate tells whether the program runs others.
func (p Program) Aggregate() bool { return p.Kind == All || p.Kind == Combined }

// subject is the machine or the effect that the program works on.
func (p Program) subject() string { return p.Machine + p.Effect }

// named composes what can be composed of parts.
func (p Program) named() Program {
	parts := []string{p.Group}
	if p.Method != "" {
		parts = append(parts, p.Method)
	}
	switch {
	case p.Aggregate():
		parts = append(parts, string(p.Kind))
	case p.Effect != "":
		parts = append(parts, p.Effect)
	default:
		parts = append(parts, p.Machine)
	}
	if p.Verb == task.Apply {
		p.Short = join(parts)
	}
	if p.Verb != "" {
		parts = append(parts, p.Verb)
	}
	p.Name = join(parts)
	p.Target = Target(p.Group, p.Name)
	return p
}
