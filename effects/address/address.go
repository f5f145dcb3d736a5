// Package address says under which addresses others reach the machines of a
// group: what more than one effect publishes of them.
package address

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
)

// Keys are the coordinates of one machine's addresses, and of where those of all
// machines were recorded.
type Keys struct {
	Addresses List      `env:"ADDRESSES" scope:"machine" desc:"public addresses of the machine, IPv4 and IPv6, separated by commas; a machine without one is in no zone"`
	Records   env.Paths `env:"RECORDS" desc:"records of deployments of the group's machines, as REPORT writes them, separated by commas: the addresses in them count for machines of which no other is named"`
}

// List is addresses that others can reach, none of them twice. The first of each
// family is the primary one.
type List []netip.Addr

// EnvDecode takes addresses between commas.
func (l *List) EnvDecode(value string) error {
	var list List
	for text := range strings.SplitSeq(value, ",") {
		address, err := parse(strings.TrimSpace(text))
		if err != nil {
			return fmt.Errorf("has an address that %w", err)
		}
		list = append(list, address)
	}
	*l = list
	return list.distinct()
}

// Valid says what EnvDecode accepts.
func (l *List) Valid() string { return "IPv4 and IPv6 addresses separated by commas" }

func (l List) distinct() error {
	seen := map[netip.Addr]bool{}
	for _, address := range l {
		if seen[address] {
			return fmt.Errorf("has %s twice", address)
		}
		seen[address] = true
	}
	return nil
}

// Of gives the addresses that the environment has for a machine, or else those
// that it is declared with. A machine is alone when its group has no other.
func Of(ctx context.Context, environment env.Environment, machine groups.Machine, alone bool) (List, error) {
	var keys Keys
	if err := environment.Load(ctx, env.For{Machine: machine.Name, Alone: alone}, &keys); err != nil {
		return nil, err
	}
	if len(keys.Addresses) > 0 {
		return keys.Addresses, nil
	}
	return Declared(machine)
}

// Declared gives the addresses that a machine is declared with.
func Declared(machine groups.Machine) (List, error) {
	var list List
	for _, text := range machine.Addresses {
		address, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("machine %s: the address %q %w", machine.Name, text, err)
		}
		list = append(list, address)
	}
	if err := list.distinct(); err != nil {
		return nil, fmt.Errorf("machine %s: its list of addresses %w", machine.Name, err)
	}
	return list, nil
}

// Reachable keeps those of some addresses that others can reach, each once.
func Reachable(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if address, err := parse(text); err == nil && !slices.Contains(kept, address.String()) {
			kept = append(kept, address.String())
		}
	}
	return kept
}

// parse reads an address that others can reach, in its plain form.
func parse(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return address, errors.New("is none")
	case address.Zone() != "" || address.Is4In6():
		return address, errors.New("is not in its plain form")
	case address.IsUnspecified() || address.IsLoopback() || address.IsMulticast() || address.IsLinkLocalUnicast():
		return address, errors.New("nobody else can reach")
	}
	return address, nil
}
