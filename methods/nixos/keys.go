package nixos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// HostingKeys are the coordinates of every system.
type HostingKeys struct {
	Hosting env.Text `env:"HOSTING_CONFIG" desc:"facts of the hosting provider, as a JSON file or inline JSON; modules see them as coordinates.hosting"`
}

// NixpkgsKeys are the further coordinates of a system that is built from a
// nixpkgs of the caller's.
type NixpkgsKeys struct {
	Nixpkgs env.Path   `env:"NIXPKGS,required" desc:"nixpkgs to build from: a directory, best a path in the Nix store"`
	Domain  env.Domain `env:"DNS_DOMAIN,required" desc:"domain that the machines of the group live under"`
}

// LocalKeys are the further coordinates of a system for a machine that Slipway
// boots itself, which need nothing from the caller.
type LocalKeys struct {
	Nixpkgs env.Path   `env:"NIXPKGS" desc:"nixpkgs to build from; empty means the small stand-in that is baked in"`
	Domain  env.Domain `env:"DNS_DOMAIN,default=localhost" desc:"domain that the machines of the group live under"`
}

// Coordinates is the argument of an evaluation: modules see it as coordinates.
type Coordinates struct {
	Group   string          `json:"group"`
	Machine string          `json:"machine"`
	Domain  string          `json:"domain"`
	Hosting json.RawMessage `json:"hosting"`

	// Placement is where the machine runs, as far as that makes its system another:
	// empty for hardware and what looks like it.
	Placement string `json:"placement,omitempty"`
}

// NewCoordinates checks and composes the argument of an evaluation.
func NewCoordinates(group groups.Group, machine groups.Machine, domain, hosting string) (Coordinates, error) {
	c := Coordinates{Group: group.Name, Machine: machine.Name, Domain: domain, Hosting: json.RawMessage("{}")}
	if hosting == "" {
		return c, nil
	}
	text, where := []byte(hosting), "inline"
	if !looksLikeJSON(hosting) {
		var err error
		if text, err = os.ReadFile(hosting); err != nil {
			return c, unreadHosting(hosting, err)
		}
		where = hosting
	}
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number of many digits is not to be rounded
	if err := decoder.Decode(&object); err != nil {
		return c, badHosting(where, err)
	}
	if decoder.More() {
		return c, badHosting(where, errors.New("something follows the object"))
	}
	if object == nil {
		return c, badHosting(where, errors.New("null is no object"))
	}
	canonical, err := json.Marshal(object) // sorted, so that spacing is no change
	if err != nil {
		return c, badHosting(where, err)
	}
	c.Hosting = canonical
	return c, nil
}

// looksLikeJSON reports whether a value was meant as JSON, right or not, and not as
// the path of a file.
func looksLikeJSON(value string) bool {
	start := strings.TrimSpace(value)
	return start == "" || strings.ContainsRune(`{["`, rune(start[0]))
}

func badHosting(where string, err error) error {
	return hostingFault(where, fmt.Errorf("not a JSON object: %w", err))
}

// unreadHosting says why the file that a value names could not be read.
func unreadHosting(path string, err error) error {
	why := fmt.Errorf("can't be read: %w", err)
	if errors.Is(err, fs.ErrNotExist) {
		why = errors.New(`there is no such file, and JSON would begin with "{"`)
		if strings.HasPrefix(path, "~") {
			why = errors.New("starts with ~, which only a shell expands")
		}
	}
	return hostingFault(path, why)
}

func hostingFault(where string, why error) error {
	return &report.Fault{
		Code: report.Usage, What: "read HOSTING_CONFIG", Where: where, Why: why,
		Hint: `give a JSON object such as {"provider":"example"}, or the path of a file that holds one`,
	}
}
