// Package account speaks to registrars: one small client each, in a file of its
// name, that reads and changes what the registrar has the parent zone say about a
// domain. What an API answers is checked before it is believed, every call is
// bounded, and a failure says of which class it is.
package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fediversity.eu/slipway/effects/registrars/delegation"
)

// Account is an account at a registrar. Each method is one change, or a few calls
// that make one; it returns when the registrar has taken the change, which may show
// in Read later.
type Account interface {
	// Read gives what the registrar has for a domain: keys or digests, whichever
	// it takes.
	Read(ctx context.Context, domain string) (delegation.Delegation, error)
	// SetHost gives a name below the domain its addresses; known says that the
	// registry has the name already. It is not called where Read says Joint.
	SetHost(ctx context.Context, domain string, host delegation.Host, known bool) error
	// RemoveHost takes a name out of the registry. Not called where Read says Joint.
	RemoveHost(ctx context.Context, domain, name string) error
	// SetServers replaces the name servers by those of want.
	SetServers(ctx context.Context, want delegation.Delegation) error
	// SetKeys replaces the keys or digests by those of want, new ones first.
	SetKeys(ctx context.Context, have, want delegation.Delegation) error
	// Changes counts the calls that changed something, or may have.
	Changes() int
}

// key is a variable and whether it is set.
type key struct {
	name string
	set  bool
}

// unset lists the variables that are not set.
func unset(keys ...key) []string {
	var names []string
	for _, k := range keys {
		if !k.set {
			names = append(names, k.name)
		}
	}
	return names
}

// readName reads the name of a host.
func readName(text string) (string, error) {
	name := delegation.Name(text)
	if !strings.Contains(name, ".") || strings.ContainsAny(name, " /:@") {
		return "", fmt.Errorf("%q is no name of a host", text)
	}
	return name, nil
}

// readServers reads the names of name servers. A list that is not there is no empty
// one.
func readServers(texts []string) ([]string, error) {
	if texts == nil {
		return nil, errors.New("there are no name servers in the answer")
	}
	var list []string
	for _, text := range texts {
		name, err := readName(text)
		if err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, nil
}

// addresses reads a host: its name and its addresses.
func addresses(text string, texts ...string) (delegation.Host, error) {
	name, err := readName(text)
	host := delegation.Host{Name: name}
	for _, text := range texts {
		if text == "" || err != nil {
			continue
		}
		address, bad := netip.ParseAddr(text)
		if bad != nil {
			err = fmt.Errorf("host %q has %q for an address", name, text)
		}
		host.Addresses = append(host.Addresses, address.Unmap())
	}
	return host, err
}

// texts writes the addresses of a host; family is 4, 6, or 0 for all.
func texts(host delegation.Host, family int) []string {
	list := []string{}
	for _, address := range host.Addresses {
		if family == 0 || address.Is4() == (family == 4) {
			list = append(list, address.String())
		}
	}
	slices.Sort(list)
	return list
}

// one writes the address of a host in one family, and nothing where it has none.
func one(host delegation.Host, family int) string {
	for _, text := range texts(host, family) {
		return text
	}
	return ""
}
