package env

import (
	"fmt"
	"maps"
	"slices"
)

// Collisions says which variables would have two meanings, were keys read for
// machines and groups: a key named like a machine's form of another (WEB_SSH_HOST and
// SSH_HOST with a machine web), two machines whose forms meet (A_B of db, B of
// db-a), a group and a machine of one name, or a secret's file form. The error is a
// *DeclarationError that names every such variable with both meanings, sorted; nil
// where there is none.
func Collisions(keys []Key, machines, groups []string) error {
	meanings := make(map[string][]string)
	add := func(k Key, before, whose string) {
		for _, name := range k.Variables() {
			meaning := k.Name + whose
			if name != k.Name {
				meaning = "the file of " + meaning
			}
			if !slices.Contains(meanings[before+name], meaning) {
				meanings[before+name] = append(meanings[before+name], meaning)
			}
		}
	}
	for _, k := range keys {
		add(k, "", "")
		if k.Scope == ScopeRun {
			continue
		}
		for _, machine := range machines {
			add(k, prefix(machine)+"_", " of machine "+machine)
		}
		for _, group := range groups {
			add(k, prefix(group)+"_", " of group "+group)
		}
	}
	var faults []Fault
	for _, name := range slices.Sorted(maps.Keys(meanings)) {
		if m := meanings[name]; len(m) > 1 {
			slices.Sort(m)
			faults = append(faults, Fault{Name: name, What: fmt.Sprintf("means %q", m)})
		}
	}
	if faults == nil {
		return nil
	}
	return &DeclarationError{Faults: faults}
}
