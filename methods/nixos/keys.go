package nixos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	text := []byte(hosting)
	where := "inline"
	if !strings.HasPrefix(strings.TrimSpace(hosting), "{") {
		var err error
		if text, err = os.ReadFile(hosting); err != nil {
			return c, badHosting(hosting, err)
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

func badHosting(where string, err error) error {
	return &report.Fault{
		Code: report.Usage, What: "read HOSTING_CONFIG", Where: where, Why: fmt.Errorf("not a JSON object: %w", err),
		Hint: `give a JSON object such as {"provider":"example"}, or the path of a file that holds one`,
	}
}
