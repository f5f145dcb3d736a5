// Package contract is what a registry promises to those who start its programs
// and know nothing else of it: every name that exists, what each one reads, and
// the same as JSON, with a schema, to be baked into a front-end.
//
// A program reads what its Reader lists, and an aggregate what its members read;
// [Contract.Variables] spells that out for one program.
package contract

import (
	"fmt"
	"slices"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
)

// Version is that of the form of the documents. A field that is added does not
// change it; one that goes, or means something else, does.
const Version = 1

// Contract is everything that is published of a registry, in the order of names.
type Contract struct {
	Programs []Program
	Readers  []Reader
	Sets     []Set
	Fixed    []env.Variable // what a job may be given beside what it reads
}

// Program is one thing that can be run.
type Program struct {
	Name        string       `json:"name"`
	Short       string       `json:"short,omitempty"` // the name without a verb, where that means this program too
	Target      string       `json:"target"`          // of Mage
	Description string       `json:"description"`
	Published   bool         `json:"published"` // offered to callers; the others exist for their group
	Kind        program.Kind `json:"kind"`
	Group       string       `json:"group"`
	Method      string       `json:"method,omitempty"`
	Effect      string       `json:"effect,omitempty"`
	Machine     string       `json:"machine,omitempty"`
	Verb        string       `json:"verb,omitempty"`
	Arguments   []Argument   `json:"arguments,omitempty"`
	Reads       string       `json:"reads,omitempty"`   // the name of a Reader; empty for an aggregate
	Members     []string     `json:"members,omitempty"` // of an aggregate, which reads what they read
}

// Argument is a key that may also be given as a word after the program's name.
type Argument struct {
	Key      string `json:"key"`
	Optional bool   `json:"optional"`
}

// New makes the contract of a registry. Its cost is linear in the number of
// programs.
func New(r *program.Registry) (*Contract, error) {
	c := &Contract{Fixed: env.Fixed()}
	readers := newReaders()
	for _, p := range r.Programs() {
		own := published(r, p)
		if p.Aggregate() {
			for _, member := range r.Members(p) {
				own.Members = append(own.Members, member.Name)
			}
		} else {
			name, err := readers.of(p, r.Coordinates(p))
			if err != nil {
				return nil, fmt.Errorf("keys of %s: %w", p.Name, err)
			}
			own.Reads = name
		}
		c.Programs = append(c.Programs, own)
	}
	c.Readers = readers.sorted()
	c.Sets = sets(r, readers)
	return c, nil
}

func published(r *program.Registry, p program.Program) Program {
	own := Program{
		Name: p.Name, Short: p.Short, Target: p.Target, Description: p.Description, Published: !p.Internal, Kind: p.Kind,
		Group: p.Group, Method: p.Method, Effect: p.Effect, Machine: p.Machine, Verb: p.Verb,
	}
	for _, a := range r.Arguments(p) {
		own.Arguments = append(own.Arguments, Argument{Key: a.Key, Optional: a.Optional})
	}
	return own
}

// Find gives the program of a canonical name, or of one without its verb.
func (c *Contract) Find(name string) (Program, bool) {
	for _, spelling := range []string{name, name + "-apply"} {
		i, ok := slices.BinarySearchFunc(c.Programs, spelling, func(p Program, name string) int { return strings.Compare(p.Name, name) })
		if ok && (spelling == name || c.Programs[i].Short == name) {
			return c.Programs[i], true
		}
	}
	return Program{}, false
}
