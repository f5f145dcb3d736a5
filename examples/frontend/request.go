package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// refusal is why a request is not taken, all of it at once.
type refusal struct {
	Error      string   `json:"error"`
	Close      []string `json:"close,omitempty"`      // names that resemble an unknown one
	Undeclared []string `json:"undeclared,omitempty"` // variables that the program does not read
	Secret     []string `json:"secret,omitempty"`     // variables that must not come over the network
	Missing    []string `json:"missing,omitempty"`    // variables that are required
	Own        []string `json:"own,omitempty"`        // variables that only the front-end may set
}

// environment gives what a job is started with: the variables of a request, the
// front-end's own, the files of secrets that are there, and the fixed ones of this
// process. Nothing else reaches it.
func (f frontend) environment(p program, variables map[string]string) ([]string, *refusal) {
	var no refusal
	all := map[string]string{}
	public, hidden, own := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, w := range f.contract.wants(p) {
		given := false
		// A form of the front-end's own rules out the others, which might win over it.
		closed := !slices.Contains(f.may, w.Name) || slices.ContainsFunc(w.variables, func(name string) bool { _, ok := f.own[name]; return ok })
		for _, name := range w.variables {
			if w.Secret {
				hidden[name], hidden[name+"_FILE"] = true, true
				if path, ok := f.secret(name); ok {
					all[name+"_FILE"], given = path, true
				}
				continue
			}
			if value, ok := f.own[name]; ok {
				all[name], given = value, true
			}
			own[name] = own[name] || closed
			public[name] = true
			given = given || variables[name] != ""
		}
		asked := w.variables[0] // the machine's form, where the plain one is not read
		if slices.Contains(w.variables, w.Name) {
			asked = w.Name
		}
		if w.Required && !given && !slices.Contains(no.Missing, asked) {
			no.Missing = append(no.Missing, asked)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		switch {
		case hidden[name]:
			no.Secret = append(no.Secret, name)
		case own[name]:
			no.Own = append(no.Own, name)
		case !public[name]:
			no.Undeclared = append(no.Undeclared, name)
		case strings.ContainsRune(variables[name], 0):
			no.Undeclared = append(no.Undeclared, name+" with a NUL byte")
		default:
			all[name] = variables[name]
		}
	}
	if len(no.Missing)+len(no.Undeclared)+len(no.Secret)+len(no.Own) > 0 {
		no.Error = "the variables are not what " + p.Name + " reads from a request"
		return nil, &no
	}
	for _, fixed := range f.contract.Fixed {
		if value := os.Getenv(fixed.Name); value != "" {
			all[fixed.Name] = value
		}
	}
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, name+"="+all[name])
	}
	return entries, nil
}

// secret is the file of a secret. The program reads it: its text never comes
// through here.
func (f frontend) secret(name string) (string, bool) {
	if f.secrets == "" {
		return "", false
	}
	path, err := filepath.Abs(filepath.Join(f.secrets, name))
	if err != nil {
		return "", false
	}
	_, err = os.Stat(path)
	return path, err == nil
}
