package contract

import (
	"maps"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
)

// Variables lists every variable that a program reads, when it is run by itself:
// plain ones, those with a machine's name before them, and those that name a
// secret's file. Nothing else that a caller sets makes a difference.
func (c *Contract) Variables(p Program) []string {
	all := map[string]bool{}
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
	for _, m := range members {
		scope := env.For{Machine: m.Machine, Alone: alone}
		for _, read := range c.reads(m.Reads) {
			for _, name := range scope.Variables(env.Key{Name: read.Name, Secret: read.Secret, Scope: read.Scope}) {
				all[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// reads lists what a reader reads.
func (c *Contract) reads(name string) []Read {
	i, ok := slices.BinarySearchFunc(c.Readers, name, func(r Reader, name string) int { return strings.Compare(r.Name, name) })
	if !ok {
		return nil
	}
	return c.Readers[i].Keys
}
