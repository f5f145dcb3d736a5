package authority

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"fediversity.eu/slipway/effects/registrars/delegation"
)

// systemResolvers is where a system says which resolvers it asks.
const systemResolvers = "/etc/resolv.conf"

// Addresses finds the addresses of a name server by a resolver.
func (a Asker) Addresses(ctx context.Context, name string) ([]Server, error) {
	if address, err := netip.ParseAddr(name); err == nil {
		return []Server{{Address: address}}, nil
	}
	var list []Server
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		answer, err := a.resolve(ctx, name, kind)
		if err != nil {
			return nil, fmt.Errorf("find the addresses of %s: %w", name, err)
		}
		for _, record := range answer.Answer {
			if address, ok := addressOf(record); ok {
				list = append(list, Server{delegation.Name(name), address})
			}
		}
	}
	if len(list) == 0 {
		return nil, &WrongError{name, "has no address"}
	}
	return list, nil
}

// ParentServers finds the servers of the zone that delegates a domain.
func (a Asker) ParentServers(ctx context.Context, domain string) ([]Server, error) {
	for zone := domain; ; {
		_, zone, _ = strings.Cut(zone, ".")
		answer, err := a.resolve(ctx, zone, dns.TypeNS)
		if err != nil {
			return nil, fmt.Errorf("find the servers of the parent zone of %s: %w", domain, err)
		}
		found := names(answer.Answer, zone)
		if len(found) == 0 && zone != "" {
			continue // no zone begins here
		}
		var list []Server
		for _, name := range found {
			servers, err := a.Addresses(ctx, name)
			if err != nil {
				return nil, err
			}
			list = append(list, servers...)
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("find the servers of the parent zone of %s: the resolver knows none, not even of the root", domain)
		}
		return list, nil
	}
}

// resolve asks a resolver, each of those that there are until one answers.
func (a Asker) resolve(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	resolvers := []string{a.Resolver}
	if a.Resolver == "" {
		config, err := dns.ClientConfigFromFile(systemResolvers)
		if err != nil {
			return nil, &SilentError{"the system's resolver", err}
		}
		resolvers = nil
		for _, server := range config.Servers {
			resolvers = append(resolvers, net.JoinHostPort(server, config.Port))
		}
	}
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	m.SetEdns0(1232, false)
	var failed error = &SilentError{"the system's resolver", errors.New("there is none in " + systemResolvers)}
	for _, resolver := range resolvers {
		answer, err := a.exchange(ctx, resolver, m)
		switch {
		case err != nil:
			failed = &SilentError{"the resolver " + resolver, err}
		case answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError:
			failed = &SilentError{"the resolver " + resolver, fmt.Errorf("it answers %s for %s", rcode(answer.Rcode), dns.Fqdn(name))}
		default:
			return answer, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}
