// Package groups says what a group of machines is. It holds the types alone, so
// that a repository of its own can declare groups with them and compile none of
// ours; those are in the folders below, each with its NixOS modules beside it.
package groups

import "io/fs"

// Group is a set of machines that belong together and are deployed by one
// operator, from one source of NixOS modules.
type Group struct {
	Name        string // lower-case words joined by hyphens: "hosting-provider"
	Description string // one line, for listings
	Methods     []string
	Effects     []string
	Machines    []Machine
	Zones       []Zone // that the group fills
	Delegations []Delegation
	Inventory   *Inventory // nil means that the group stands in none
	Images      []Image    // that new machines start from
	Source      Source
	// Parts are the groups that this one is made of, in the order in which they come:
	// each waits for those before it. A group with parts has nothing of its own.
	Parts []Part
}

// Part is another group within a group, by one of its methods.
type Part struct {
	Group  string
	Method string
}

// Source is where the NixOS modules of a group come from when the caller names
// no other: trees that are baked into the program, each with the name of its
// folder. Modules of one may import those of another by "../folder/…".
type Source struct {
	Name  string // for messages and records
	Trees map[string]fs.FS
	// Dir is a directory that holds the modules in the place of the trees, where a
	// run takes them from a module source of its caller.
	Dir string
}
