package main

import (
	_ "embed" // the contract
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

//go:embed contract.json
var document []byte

// contract is what this front-end uses of the document: slipway schema contract
// describes all of it.
type contract struct {
	Version  int
	Programs []program
	Readers  []struct {
		Name string
		Keys []key
	}
	Fixed []struct{ Name string }
}

type program struct {
	Name        string   `json:"name"`
	Short       string   `json:"short,omitempty"`
	Description string   `json:"description"`
	Published   bool     `json:"-"`
	Kind        string   `json:"kind"`
	Group       string   `json:"group"`
	Effect      string   `json:"effect,omitempty"`
	Machine     string   `json:"machine,omitempty"`
	Reads       string   `json:"-"`
	Members     []string `json:"-"`
}

type key struct {
	Name     string
	Required bool
	Secret   bool
	Scope    string
}

// baked reads the contract that was built in. One that can't be read is a mistake
// of the build.
func baked() contract {
	var in struct {
		contract
		Programs []struct {
			program
			Published bool
			Reads     string
			Members   []string
		}
	}
	if err := json.Unmarshal(document, &in); err != nil {
		panic(fmt.Errorf("contract.json: %w", err))
	}
	if in.Version != 1 {
		panic(fmt.Errorf("contract.json: version %d, and this front-end reads 1", in.Version))
	}
	c := in.contract
	for _, p := range in.Programs {
		p.program.Published, p.program.Reads, p.program.Members = p.Published, p.Reads, p.Members
		c.Programs = append(c.Programs, p.program)
	}
	return c
}

// find gives the program of a name, published or not.
func (c contract) find(name string) (program, bool) {
	i := slices.IndexFunc(c.Programs, func(p program) bool { return p.Name == name || p.Short != "" && p.Short == name })
	if i < 0 {
		return program{}, false
	}
	return c.Programs[i], true
}

// published lists what is offered.
func (c contract) published() []program {
	return slices.DeleteFunc(slices.Clone(c.Programs), func(p program) bool { return !p.Published })
}

// want is one key as one machine of a run reads it: any of variables may give it.
type want struct {
	key
	variables []string
}

// wants lists what a program reads: an aggregate what its members read.
func (c contract) wants(p program) []want {
	members := []program{p}
	if len(p.Members) > 0 {
		members = nil
		for _, name := range p.Members {
			member, _ := c.find(name)
			members = append(members, member)
		}
	}
	alone := !slices.ContainsFunc(members, func(m program) bool { return m.Machine != members[0].Machine })
	var all []want
	for _, m := range members {
		for _, reader := range c.Readers {
			if reader.Name != m.Reads {
				continue
			}
			for _, k := range reader.Keys {
				all = append(all, want{k, c.forms(k, m, alone)})
			}
		}
	}
	return all
}

// forms are the names under which a key is read for a member of a run: DB_1_SSH_HOST
// for the machine db-1, OPERATOR_SSH_HOST and SSH_HOST where these are not another
// machine's. An effect reads what is a machine's own for every machine of its group.
func (c contract) forms(k key, m program, alone bool) []string {
	if k.Scope == "run" {
		return []string{k.Name}
	}
	machines, own := c.machines(m.Group), k.Scope == "machine"
	owners := []string{m.Machine}
	if m.Effect != "" && own {
		owners = machines
	}
	if !own || len(machines) == 1 {
		owners = append(slices.Clone(owners), m.Group)
	}
	var names []string
	for _, owner := range owners {
		if owner != "" {
			names = append(names, strings.ToUpper(strings.ReplaceAll(owner, "-", "_"))+"_"+k.Name)
		}
	}
	if m.Machine == "" || !own || alone {
		names = append(names, k.Name)
	}
	return names
}

// machines lists those of a group: each has the program of its system.
func (c contract) machines(group string) []string {
	var names []string
	for _, p := range c.Programs {
		if p.Group == group && p.Kind == "system" {
			names = append(names, p.Machine)
		}
	}
	return names
}
