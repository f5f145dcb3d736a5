package catalog

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
)

func TestTheDeclarationsHaveNoFault(t *testing.T) {
	r, err := Registry()
	assert.NilError(t, err)
	assert.NilError(t, r.Check())
	assert.Assert(t, cmp.Len(r.Groups(), len(Groups())))
}

func TestEveryMachineHasItsModules(t *testing.T) {
	for _, group := range Groups() {
		for _, machine := range group.Machines {
			for _, module := range machine.Modules {
				tree, file, ok := strings.Cut(module, "/")
				assert.Assert(t, ok, "%s names no tree", module)
				assert.Assert(t, group.Source.Trees[tree] != nil, "%s of %s: no tree %q", machine.Name, group.Name, tree)
				_, err := fs.Stat(group.Source.Trees[tree], file)
				assert.NilError(t, err, "%s of %s", machine.Name, group.Name)
			}
		}
	}
}

func TestALocalMachineAnswersWhereAPortIsForwarded(t *testing.T) {
	for _, group := range Groups() {
		for _, machine := range group.Machines {
			if local, ok := machine.Placement.(groups.Local); ok && local.Answers != 0 {
				assert.Assert(t, slices.Contains(local.Forward, local.Answers), "%s of %s", machine.Name, group.Name)
			}
		}
	}
}

func TestEveryProgramSaysWhatItReads(t *testing.T) {
	r, err := Registry()
	assert.NilError(t, err)
	for _, p := range r.Programs() {
		keys, err := r.Keys(p)
		assert.NilError(t, err, p.Name)
		for _, key := range keys {
			assert.Assert(t, key.Description != "" && !strings.HasSuffix(key.Description, "."), "%s: %s", p.Name, key.Name)
		}
		assert.Assert(t, p.Description != "" && !strings.ContainsAny(p.Description, "\n`"), p.Name)
	}
}

func TestNoVariableHasTwoMeanings(t *testing.T) {
	r, err := Registry()
	assert.NilError(t, err)
	for _, p := range r.Programs() {
		if !p.Aggregate() {
			continue
		}
		keys, err := r.Keys(p)
		assert.NilError(t, err)
		var machines, owners []string
		for _, member := range r.Members(p) {
			owners = append(owners, member.Group)
			if member.Machine != "" {
				machines = append(machines, member.Machine)
			}
		}
		assert.NilError(t, env.Collisions(keys, machines, owners), p.Name)
	}
}
