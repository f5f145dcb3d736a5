package groups

// Machine is one NixOS host of a group.
type Machine struct {
	Name        string // lower-case words joined by hyphens: "db-1"
	Description string // one line, for listings
	Internal    bool   // exists for its group, is not offered to front-ends
	System      string // platform as Nix writes it; empty means DefaultSystem
	Modules     []string
	Needs       []string // machines of the group that must be healthy before it
	Placement   Placement
	Incus       Instance // what it is where a method makes it on Incus
	Probes      []Probe  // what it must answer, besides that its units are well

	// Database and Mount are state of the deployment's own that is kept elsewhere;
	// methods that use OpenTofu make it. nil means that there is none.
	Database *Database
	Mount    *Mount

	// Addresses are the public ones, IPv4 and IPv6, where they are known when the
	// machine is declared; those in the coordinates win over them.
	Addresses []string
	// Names are further names with the machine's addresses, beside its own, as in
	// Record.Name: "@" for the domain itself, "www".
	Names []string
	// Records stand and fall with the machine's addresses: while it has none, the
	// zones don't speak of it. Their names are relative to the domain.
	Records []Record
}

// DefaultSystem is the platform of a machine that names none.
const DefaultSystem = "x86_64-linux"

// Platform is the machine's platform as Nix writes it.
func (m Machine) Platform() string {
	if m.System == "" {
		return DefaultSystem
	}
	return m.System
}

// Published tells whether callers may deploy the machine by its name.
func (m Machine) Published() bool { return !m.Internal }
