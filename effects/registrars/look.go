package registrars

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"fediversity.eu/slipway/effects/registrars/authority"
	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
)

// seen is what one address of a name server says.
type seen[T any] struct {
	server authority.Server
	says   T
	err    error // *authority.WrongError, or else it is not known what it says
}

// askAll asks all servers at once.
func askAll[T any](servers []authority.Server, ask func(authority.Server) (T, error)) []seen[T] {
	list := make([]seen[T], len(servers))
	var group sync.WaitGroup
	for i, server := range servers {
		group.Go(func() {
			says, err := ask(server)
			list[i] = seen[T]{server, says, err}
		})
	}
	group.Wait()
	return list
}

// children asks the name servers of a domain that is to be about it.
func children(ctx context.Context, a authority.Asker, want delegation.Delegation) []seen[authority.Child] {
	var servers []authority.Server
	var unfound []seen[authority.Child]
	for _, name := range want.Servers {
		if host, ok := want.Host(name); ok {
			for _, address := range host.Addresses {
				servers = append(servers, authority.Server{Name: name, Address: address})
			}
			continue
		}
		found, err := a.Addresses(ctx, name)
		if err != nil {
			unfound = append(unfound, seen[authority.Child]{server: authority.Server{Name: name}, err: err})
		}
		servers = append(servers, found...)
	}
	return append(unfound, askAll(servers, func(server authority.Server) (authority.Child, error) {
		return a.Child(ctx, server, want.Domain)
	})...)
}

// parents asks the servers of the parent zone about a domain.
func parents(ctx context.Context, a authority.Asker, names []string, domain string) ([]seen[authority.Parent], error) {
	var servers []authority.Server
	for _, name := range names {
		found, err := a.Addresses(ctx, name)
		if err != nil {
			return nil, err
		}
		servers = append(servers, found...)
	}
	if len(names) == 0 {
		var err error
		if servers, err = a.ParentServers(ctx, domain); err != nil {
			return nil, err
		}
	}
	return askAll(servers, func(server authority.Server) (authority.Parent, error) { return a.Parent(ctx, server, domain) }), nil
}

// findings is what a look came to: what is wrong, what is not known, and what does
// not matter for what else is known.
type findings struct{ wrong, unknown, minor []string }

func (f *findings) blame(server fmt.Stringer, format string, args ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf("%s %s", server, fmt.Sprintf(format, args...)))
}

// err is an error of all that was found, nil where nothing was.
func (f findings) err() error {
	var all []error
	for _, text := range slices.Concat(f.wrong, f.unknown) {
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// collect sorts out who answered. A name server is known by any of its addresses;
// the others, such as one of IPv6 from a host without it, are minor then.
func collect[T any](f *findings, list []seen[T]) []seen[T] {
	var answered []seen[T]
	known := map[string]bool{}
	for _, s := range list {
		if _, wrong := errors.AsType[*authority.WrongError](s.err); s.err == nil || wrong && !silent(s.err) {
			known[s.server.Name] = known[s.server.Name] || s.server.Name != ""
		}
	}
	for _, s := range list {
		switch {
		case s.err == nil:
			answered = append(answered, s)
		case !silent(s.err):
			f.wrong = append(f.wrong, s.err.Error())
		case known[s.server.Name]:
			f.minor = append(f.minor, s.err.Error())
		default:
			f.unknown = append(f.unknown, s.err.Error())
		}
	}
	return answered
}

// silent tells whether an error is that of a server whose answer is not known.
func silent(err error) bool {
	_, wrong := errors.AsType[*authority.WrongError](err)
	_, silent := errors.AsType[*authority.SilentError](err)
	return silent || !wrong
}

// anchored holds the keys of a child to what is wanted: each wanted key is served,
// and one of each of their algorithms signs (RFC 4035 section 2.2).
func anchored(f *findings, want delegation.Delegation, s seen[authority.Child]) {
	if !want.Signed() {
		return
	}
	for _, k := range want.Keys {
		if !slices.ContainsFunc(s.says.Keys, k.Equal) {
			f.blame(s.server, "does not serve the DNSKEY %d that the parent is to vouch for; its own: %s", k.Tag(), served(s.says.Keys))
		}
	}
	for _, ds := range want.DS {
		if len(want.Keys) == 0 && !slices.ContainsFunc(s.says.Keys, func(k dnssec.Key) bool { return ds.Of(want.Domain, k) }) {
			f.blame(s.server, "serves no DNSKEY for the DS %d; its own: %s", ds.Tag, served(s.says.Keys))
		}
	}
	for _, algorithm := range algorithms(want) {
		if !slices.ContainsFunc(s.says.Signing, func(k dnssec.Key) bool { return k.Algorithm == algorithm && want.Trusts(k) }) {
			f.blame(s.server, "has no valid signature of its keys by one of algorithm %d that the parent is to vouch for", algorithm)
		}
	}
}

// algorithms lists those of the keys that the parent is to vouch for.
func algorithms(want delegation.Delegation) []uint8 {
	var list []uint8
	for _, k := range want.Keys {
		list = append(list, k.Algorithm)
	}
	for _, ds := range want.DS {
		list = append(list, ds.Algorithm)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func served(keys []dnssec.Key) string {
	if len(keys) == 0 {
		return "none"
	}
	return tags(keys)
}

// same tells whether two lists are one set.
func same(a, b []string) bool { return list(a) == list(b) }

// list writes a set of names.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
