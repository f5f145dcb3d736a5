package contract

import (
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
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
	machines := c.machines()
	shares := make([]Share, 0, len(members))
	for _, m := range members {
		share := Share{Program: m}
		for _, read := range c.reads(m.Reads) {
			for _, scope := range scopes(m, read, machines[m.Group], alone) {
				share.add(read, scope)
			}
		}
		slices.SortFunc(share.Variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
		share.Variables = slices.Compact(share.Variables)
		shares = append(shares, share)
	}
	return shares
}

// add adds the variables of a key.
func (s *Share) add(read Read, scope env.For) {
	values := scope.Variables(env.Key{Name: read.Name, Scope: read.Scope})
	for _, name := range scope.Variables(env.Key{Name: read.Name, Secret: read.Secret, Scope: read.Scope}) {
		s.Variables = append(s.Variables, Variable{name, read.Secret && slices.Contains(values, name)})
	}
}

// scopes says for whom a program reads a key: for itself, and an effect what is a
// machine's own for every machine of its group.
func scopes(p Program, read Read, machines []string, alone bool) []env.For {
	sole := len(machines) == 1
	group := env.Group{Name: p.Group, Sole: sole}
	list := []env.For{{Machine: p.Machine, Alone: alone, Group: group}}
	if p.Effect != "" && read.Scope == env.ScopeMachine {
		for _, machine := range machines {
			list = append(list, env.For{Machine: machine, Alone: sole, Group: group})
		}
	}
	return list
}

// machines lists the machines of each group.
func (c *Contract) machines() map[string][]string {
	all := map[string][]string{}
	for _, p := range c.Programs {
		if p.Kind == program.System { // which every machine has
			all[p.Group] = append(all[p.Group], p.Machine)
		}
	}
	return all
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
