package groups

import (
	"errors"
	"fmt"
	"regexp"
)

// Database is a PostgreSQL database that a deployment makes on a server that is
// there, with a role that owns it. It outlives the deployment.
type Database struct {
	Name  string `json:"name"`
	Owner string `json:"owner,omitempty"` // role that may do everything in it; empty means the database's name
}

// Mount is a secrets engine that a deployment mounts in an OpenBao or Vault that is
// there. It outlives the deployment.
type Mount struct {
	Path    string `json:"path"`              // "operator/forge"
	Type    string `json:"type,omitempty"`    // empty means DefaultMount
	Version int    `json:"version,omitempty"` // of kv: 1 or 2; 0 means 2
}

// DefaultMount is the type of a mount that names none.
const DefaultMount = "kv"

var (
	// An identifier that PostgreSQL takes without quotation marks (its documentation, 4.1.1).
	identifier = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	mountPath  = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*$`)
	mountType  = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// Role is the owner of the database.
func (d Database) Role() string {
	if d.Owner == "" {
		return d.Name
	}
	return d.Owner
}

// Check names everything that is wrong with the declaration.
func (d Database) Check() error {
	var faults []error
	if !identifier.MatchString(d.Name) {
		faults = append(faults, fmt.Errorf("database: name %q is no lower-case identifier", d.Name))
	}
	if d.Owner != "" && !identifier.MatchString(d.Owner) {
		faults = append(faults, fmt.Errorf("database: owner %q is no lower-case identifier", d.Owner))
	}
	return errors.Join(faults...)
}

// Kind is the type of the secrets engine.
func (m Mount) Kind() string {
	if m.Type == "" {
		return DefaultMount
	}
	return m.Type
}

// Check names everything that is wrong with the declaration.
func (m Mount) Check() error {
	var faults []error
	if !mountPath.MatchString(m.Path) {
		faults = append(faults, fmt.Errorf("mount: path %q is not lower-case words between slashes", m.Path))
	}
	if !mountType.MatchString(m.Kind()) {
		faults = append(faults, fmt.Errorf("mount: type %q is no lower-case word", m.Type))
	}
	if m.Version < 0 || m.Version > 2 || m.Version > 0 && m.Kind() != DefaultMount {
		faults = append(faults, fmt.Errorf("mount: version %d; there are 1 and 2, of kv alone", m.Version))
	}
	return errors.Join(faults...)
}
