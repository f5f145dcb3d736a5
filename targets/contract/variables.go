package contract

import (
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
)

// Share is what one program reads as a member of a run.
type Share struct {
	Program   Program
	Variables []Variable // sorted by name
}

// Variable is one that a program reads.
type Variable struct {
	Name   string
	Secret bool // its value is one; the path of a file that holds one is none
}

// Shares lists what each member of a program reads in a run of that program, in
// their order: plain variables, those with the machine's or its group's name before
// them, and those that name a secret's file. A program that is no aggregate is its own member.
func (c *Contract) Shares(p Program) []Share {
	members := []Program{p}
	if len(p.Members) > 0 {
		members = nil
		for _, name := range p.Members {
			if member, ok := c.Find(name); ok {
				members = append(members, member)
			}
		}
	}
	alone := !slices.ContainsFunc(members, func(m Program) bool { return m.Machine != members[0].Machine })
	several := c.several()
	shares := make([]Share, 0, len(members))
	for _, m := range members {
		share, scope := Share{Program: m}, env.For{
			Machine: m.Machine, Alone: alone, Group: env.Group{Name: m.Group, Sole: !several[m.Group]},
		}
		for _, read := range c.reads(m.Reads) {
			key := env.Key{Name: read.Name, Secret: read.Secret, Scope: read.Scope}
			values := scope.Variables(env.Key{Name: read.Name, Scope: read.Scope})
			for _, name := range scope.Variables(key) {
				share.Variables = append(share.Variables, Variable{name, key.Secret && slices.Contains(values, name)})
			}
		}
		slices.SortFunc(share.Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
		shares = append(shares, share)
	}
	return shares
}

// several tells which groups have more than one machine.
func (c *Contract) several() map[string]bool {
	first, several := map[string]string{}, map[string]bool{}
	for _, p := range c.Programs {
		switch known, ok := first[p.Group]; {
		case p.Machine == "":
		case !ok:
			first[p.Group] = p.Machine
		case known != p.Machine:
			several[p.Group] = true
		}
	}
	return several
}

// Variables lists every variable that a program reads, when it is run by itself.
// Nothing else that a caller sets makes a difference.
func (c *Contract) Variables(p Program) []string {
	var all []string
	for _, share := range c.Shares(p) {
		for _, variable := range share.Variables {
			all = append(all, variable.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reads lists what a reader reads.
func (c *Contract) reads(name string) []Read {
	i, ok := slices.BinarySearchFunc(c.Readers, name, func(r Reader, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return c.Readers[i].Keys
}
