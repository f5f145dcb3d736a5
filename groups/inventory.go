package groups

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Inventory says how the machines of a group stand in an inventory of what there
// is, which the effect netbox keeps.
type Inventory struct {
	Tenant      string  `json:"tenant,omitempty"`       // whom the machines belong to; empty means nobody in particular
	Site        string  `json:"site"`                   // where they stand
	Cluster     string  `json:"cluster,omitempty"`      // what the virtual machines run on
	ClusterType string  `json:"cluster_type,omitempty"` // technology of the cluster: "Incus"
	Role        string  `json:"role,omitempty"`         // of machines that name no other
	Platform    string  `json:"platform,omitempty"`     // of all machines; empty means DefaultPlatform
	Assets      []Asset `json:"assets,omitempty"`
}

// DefaultPlatform is the platform in an inventory that names none.
const DefaultPlatform = "NixOS"

// Asset is what is known of one machine beside its name, its placement and its
// addresses. A machine needs none.
type Asset struct {
	Machine   string    `json:"machine"`             // which one
	Role      string    `json:"role,omitempty"`      // empty means that of the inventory
	Interface string    `json:"interface,omitempty"` // that bears its addresses; empty means DefaultInterface
	Hardware  Hardware  `json:"hardware,omitzero"`   // the zero Hardware means a virtual machine
	Services  []Service `json:"services,omitempty"`
}

// DefaultInterface is the interface of a machine that names none.
const DefaultInterface = "eth0"

// Hardware is what a machine is that is no virtual one.
type Hardware struct {
	Manufacturer string `json:"manufacturer"`
	Model        string `json:"model"`
}

// Service is what a machine offers to others.
type Service struct {
	Name  string   `json:"name"`  // "https"
	Ports []string `json:"ports"` // each with its protocol, as in "tcp/443"
}

// PlatformName says what runs on the machines.
func (i Inventory) PlatformName() string {
	if i.Platform == "" {
		return DefaultPlatform
	}
	return i.Platform
}

// Asset gives what is known of a machine, with the defaults filled in.
func (i Inventory) Asset(machine string) Asset {
	asset := Asset{Machine: machine}
	if n := slices.IndexFunc(i.Assets, func(a Asset) bool { return a.Machine == machine }); n >= 0 {
		asset = i.Assets[n]
	}
	if asset.Role == "" {
		asset.Role = i.Role
	}
	if asset.Interface == "" {
		asset.Interface = DefaultInterface
	}
	return asset
}

// Virtual tells whether a machine is a virtual one: what Slipway boots is, and
// elsewhere what has no hardware of its own.
func (i Inventory) Virtual(machine Machine) bool {
	if _, local := machine.Placement.(Local); local {
		return true
	}
	return i.Asset(machine.Name).Hardware == Hardware{}
}

// Check finds everything that is wrong with the inventory of a group that has
// these machines.
func (i Inventory) Check(machines []Machine) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("inventory: "+format, args...))
	}
	if i.Site == "" {
		fault("no site")
	}
	seen := map[string]bool{}
	for _, asset := range i.Assets {
		switch {
		case seen[asset.Machine]:
			fault("machine %q: described twice", asset.Machine)
		case !slices.ContainsFunc(machines, func(m Machine) bool { return m.Name == asset.Machine }):
			fault("machine %q: not a machine of the group", asset.Machine)
		}
		seen[asset.Machine] = true
		for _, err := range asset.check() {
			fault("machine %q: %w", asset.Machine, err)
		}
	}
	for _, machine := range machines {
		asset := i.Asset(machine.Name)
		if asset.Role == "" {
			fault("machine %q: no role", machine.Name)
		}
		if i.Virtual(machine) && (i.Cluster == "" || i.ClusterType == "") {
			fault("machine %q: virtual, and there is no cluster with a type", machine.Name)
		}
		if _, local := machine.Placement.(Local); local && asset.Hardware != (Hardware{}) {
			fault("machine %q: Slipway boots it, so it is no hardware", machine.Name)
		}
	}
	return errors.Join(faults...)
}

func (a Asset) check() []error {
	var faults []error
	if (a.Hardware.Manufacturer == "") != (a.Hardware.Model == "") {
		faults = append(faults, errors.New("hardware needs both a manufacturer and a model"))
	}
	seen := map[string]bool{}
	for _, service := range a.Services {
		name := strings.ToLower(service.Name)
		if name == "" || seen[name] {
			faults = append(faults, fmt.Errorf("service %q: the name is missing or there twice", service.Name))
		}
		seen[name] = true
		if err := service.check(); err != nil {
			faults = append(faults, fmt.Errorf("service %q: %w", service.Name, err))
		}
	}
	return faults
}

func (s Service) check() error {
	if len(s.Ports) == 0 {
		return errors.New("no port")
	}
	for _, port := range s.Ports {
		protocol, number, _ := strings.Cut(port, "/")
		var n uint16
		_, err := fmt.Sscanf(number, "%d", &n)
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol) || err != nil || n == 0 || fmt.Sprint(n) != number {
			return fmt.Errorf("port %q: not a protocol (tcp, udp or sctp), a slash and a number from 1 to 65535", port)
		}
	}
	return nil
}
