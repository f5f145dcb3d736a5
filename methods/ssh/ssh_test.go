package ssh

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/task"
)

func namesOf(list []task.Verb) []string {
	var names []string
	for _, verb := range list {
		names = append(names, verb.Name)
	}
	return names
}

func TestVerbs(t *testing.T) {
	m := New(nil, nil)
	external := []string{"apply", "plan", "verify", "rollback", "generations", "build"}
	assert.DeepEqual(t, namesOf(m.Verbs(groups.External{})), external)
	assert.DeepEqual(t, namesOf(m.Verbs(groups.Local{})), append(external, "destroy"))
	assert.DeepEqual(t, namesOf(m.Verbs(groups.External{})), external) // one list does not change another
	for _, verb := range m.Verbs(groups.Local{}) {
		assert.Assert(t, verb.Description != "", verb.Name)
	}
	assert.Equal(t, m.Name(), "ssh")
	assert.Assert(t, m.Description() != "")
}

func TestEveryVerbHasATaskOfItsOwn(t *testing.T) {
	m := New(nil, nil)
	kinds := map[string]string{}
	for _, verb := range m.Verbs(groups.Local{}) {
		kind := fmt.Sprintf("%T", m.Task(methods.Deployment{}, verb.Name))
		assert.Assert(t, kinds[kind] == "", "%s and %s are both %s", kinds[kind], verb.Name, kind)
		kinds[kind] = verb.Name
	}
}

func TestCoordinatesOfEveryVerb(t *testing.T) {
	reach := []string{
		"SSH_AUTH_SOCK", "SSH_CONNECT_TIMEOUT", "SSH_HOST", "SSH_HOST_KEY", "SSH_JUMP", "SSH_JUMP_HOST_KEY", "SSH_KEEPALIVE", "SSH_KEY", "SSH_PORT", "SSH_USER",
	}
	system := []string{"CACHE_DIR", "DNS_DOMAIN", "HOSTING_CONFIG", "NIXPKGS"}
	for _, c := range []struct {
		verb  string
		place groups.Placement
		has   [][]string
		lacks []string
	}{
		{"apply", groups.External{}, [][]string{reach, system, {"SSH_SUBSTITUTE", "SSH_SWITCH_TIMEOUT", "VERDICT_TIMEOUT"}}, nil},
		{"verify", groups.External{}, [][]string{reach, {"VERDICT_TIMEOUT"}}, append(system, "SSH_SWITCH_TIMEOUT")},
		{"generations", groups.External{}, [][]string{reach}, append(system, "VERDICT_TIMEOUT")},
		{"build", groups.External{}, [][]string{system}, reach},
		{"apply", groups.Local{}, [][]string{system, {"SSH_SUBSTITUTE", "SSH_SWITCH_TIMEOUT", "VERDICT_TIMEOUT"}}, reach},
		{"verify", groups.Local{}, [][]string{{"VERDICT_TIMEOUT"}}, append(reach, "NIXPKGS")},
		{"build", groups.Local{}, [][]string{system}, reach},
		// Slipway must know where it keeps the machines that it booted.
		{"generations", groups.Local{}, [][]string{{"CACHE_DIR"}}, reach},
		{"verify", groups.Local{}, [][]string{{"CACHE_DIR"}}, reach},
		{"destroy", groups.Local{}, [][]string{{"CACHE_DIR"}}, append(reach, system[1:]...)},
	} {
		t.Run(fmt.Sprintf("%s of %T", c.verb, c.place), func(t *testing.T) {
			task := New(nil, nil).Task(methods.Deployment{Machine: groups.Machine{Placement: c.place}}, c.verb)
			keys, err := env.Declared(task.Coordinates()...)
			assert.NilError(t, err)
			declared := map[string]bool{}
			for _, key := range keys {
				declared[key.Name] = true
			}
			for _, names := range c.has {
				for _, name := range names {
					assert.Assert(t, declared[name], "%s must be declared", name)
				}
			}
			for _, name := range c.lacks {
				assert.Assert(t, !declared[name], "%s is of no use", name)
			}
		})
	}
}

func TestAMachineThatNeedsNothingNeedsNoVariable(t *testing.T) {
	m := New(nil, nil)
	for _, verb := range m.Verbs(groups.Local{}) {
		task := m.Task(methods.Deployment{Machine: groups.Machine{Name: "local", Placement: groups.Local{}}}, verb.Name)
		e := env.Map(map[string]string{"HOME": "/root"})
		assert.NilError(t, e.Load(t.Context(), env.For{Machine: "local", Alone: true}, task.Coordinates()...), verb.Name)
	}
}
