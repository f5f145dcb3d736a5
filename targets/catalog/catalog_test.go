package catalog

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
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

// Whoever asks a task again for its coordinates must not empty those that were filled.
func TestTasksGiveTheSameCoordinatesAgain(t *testing.T) {
	same := func(name string, it task.Task) {
		assert.Assert(t, slices.Equal(it.Coordinates(), it.Coordinates()), name)
	}
	for _, group := range Groups() {
		for _, effect := range Effects() {
			for _, verb := range effect.Verbs(group) {
				same(group.Name+" "+effect.Name()+" "+verb.Name, effect.Task(group, verb.Name))
			}
		}
		for _, machine := range group.Machines {
			machine.Database, machine.Mount = &groups.Database{}, &groups.Mount{}
			for _, method := range Methods() {
				for _, verb := range method.Verbs(machine.Placement) {
					same(machine.Name+" "+method.Name()+" "+verb.Name, method.Task(methods.Deployment{Group: group, Machine: machine}, verb.Name))
				}
			}
		}
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
