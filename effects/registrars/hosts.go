package registrars

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/groups"
)

// mostServers is how many name servers fit into an answer of every kind.
const mostServers = 13

// hosts reads the name servers of a delegation, and whose addresses the registry is
// to have.
func (e *evaluation) hosts(w *wanted, declared groups.Delegation) []error {
	var faults []error
	servers := declared.NameServers
	if len(servers) == 0 {
		for _, line := range e.servers.Servers {
			fields := strings.Fields(line)
			servers = append(servers, groups.NameServer{Name: fields[0], Addresses: fields[1:]})
		}
	}
	add := func(what string, declared groups.NameServer) delegation.Host {
		host, err := readHost(w.Domain, declared)
		if err == nil {
			err = w.registrar.checkHost(host)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s %w", what, err))
		}
		for _, address := range host.Addresses {
			if !public(address) {
				w.doubts = append(w.doubts, fmt.Sprintf("%s: the address %s of %s can't be reached from everywhere", w.Domain, address, host.Name))
			}
		}
		return host
	}
	for _, server := range servers {
		host := add("name server", server)
		if slices.Contains(w.Servers, host.Name) {
			faults = append(faults, fmt.Errorf("name server %s is there twice", host.Name))
		}
		w.Servers = append(w.Servers, host.Name)
		if delegation.Below(host.Name, w.Domain) {
			w.Hosts = append(w.Hosts, host)
		}
	}
	for _, declared := range declared.Hosts {
		host := add("host", declared)
		if _, twice := w.Host(host.Name); twice {
			faults = append(faults, fmt.Errorf("host %s is there twice", host.Name))
		}
		if !delegation.Below(host.Name, w.Domain) {
			faults = append(faults, fmt.Errorf("host %s is not below the domain, whose registry has no addresses for it", host.Name))
		}
		if w.registrar.joint {
			faults = append(faults, fmt.Errorf("host %s: %s has addresses only for name servers of the domain", host.Name, w.registrar.name))
		}
		w.Hosts = append(w.Hosts, host)
	}
	switch n := len(w.Servers); {
	case n > mostServers:
		faults = append(faults, fmt.Errorf("it has %d name servers; %d is the most", n, mostServers))
	case n == 1:
		w.doubts = append(w.doubts, w.Domain+": it has one name server; many registries want two, and so does everybody who wants to reach it")
	}
	return faults
}

// readHost checks a name and its addresses.
func readHost(domain string, declared groups.NameServer) (delegation.Host, error) {
	host := delegation.Host{Name: delegation.Name(declared.Name)}
	if !strings.Contains(declared.Name, ".") && declared.Name != "" {
		host.Name += "." + domain
	}
	if err := checkName(host.Name); err != nil {
		return host, err
	}
	for _, text := range declared.Addresses {
		address, err := netip.ParseAddr(text)
		address = address.Unmap()
		if err != nil || address.Zone() != "" || address.IsUnspecified() || address.IsMulticast() {
			return host, fmt.Errorf("%s: %q is no address of a host", host.Name, text)
		}
		if !slices.Contains(host.Addresses, address) {
			host.Addresses = append(host.Addresses, address)
		}
	}
	below := delegation.Below(host.Name, domain)
	switch {
	case below && len(host.Addresses) == 0:
		return host, fmt.Errorf("%s is below the domain and has no address: nobody could find it; write its addresses after its name", host.Name)
	case !below && len(host.Addresses) > 0:
		return host, fmt.Errorf("%s is not below the domain: its addresses are the business of its own; leave them out", host.Name)
	}
	return host, nil
}

// checkHost holds a host to what the registrar can store.
func (r registrar) checkHost(host delegation.Host) error {
	families := map[bool]int{}
	for _, address := range host.Addresses {
		families[address.Is4()]++
	}
	if r.pairs && (families[true] > 1 || families[false] > 1) {
		return fmt.Errorf("%s has several addresses of one kind; %s takes one IPv4 and one IPv6 address", host.Name, r.name)
	}
	return nil
}

// public tells whether an address can be reached from everywhere.
func public(address netip.Addr) bool {
	return address.IsGlobalUnicast() && !address.IsPrivate()
}
