package authority

import (
	"context"
	"net/netip"
	"slices"

	"github.com/miekg/dns"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
)

// Parent is what a server of the parent zone says about a domain: its name servers,
// the addresses of those below the domain, and the digests of its keys. All are
// empty where the parent does not delegate the domain.
type Parent struct {
	delegation.Delegation
	// Both says that the server serves the child too, and answers with what that
	// says: what name servers and addresses the parent has it does not show.
	Both bool
}

// Parent asks a server of the parent zone about a domain.
func (a Asker) Parent(ctx context.Context, server Server, domain string) (Parent, error) {
	d := Parent{Delegation: delegation.Delegation{Domain: domain}}
	referral, err := a.fromParent(ctx, server, domain, dns.TypeNS)
	if err != nil {
		return d, err
	}
	d.Servers = names(referral.Ns, domain)
	if answer := names(referral.Answer, domain); len(answer) > 0 {
		d.Servers, d.Both = answer, true
	}
	glue := map[string][]netip.Addr{}
	for _, record := range referral.Extra {
		name := delegation.Name(record.Header().Name)
		if address, ok := addressOf(record); ok && slices.Contains(d.Servers, name) && delegation.Below(name, domain) {
			glue[name] = append(glue[name], address)
		}
	}
	for _, name := range d.Servers {
		if len(glue[name]) > 0 {
			d.Hosts = append(d.Hosts, delegation.Host{Name: name, Addresses: glue[name]})
		}
	}
	digests, err := a.fromParent(ctx, server, domain, dns.TypeDS)
	if err != nil {
		return d, err
	}
	for _, record := range digests.Answer {
		r, ok := record.(*dns.DS)
		if !ok || delegation.Name(r.Hdr.Name) != domain {
			continue
		}
		ds, err := dnssec.ReadDS(int64(r.KeyTag), int64(r.Algorithm), int64(r.DigestType), r.Digest)
		if err != nil {
			return d, &WrongError{server.String(), "serves a DS that is malformed: " + err.Error()}
		}
		d.DS = append(d.DS, ds)
	}
	return d, nil
}

// fromParent asks a server of the parent zone.
func (a Asker) fromParent(ctx context.Context, server Server, domain string, kind uint16) (*dns.Msg, error) {
	answer, err := a.ask(ctx, server, domain, kind)
	switch {
	case err != nil:
		return nil, err
	case answer.Rcode == dns.RcodeServerFailure:
		return nil, &SilentError{server.String(), &WrongError{"it", "answers SERVFAIL for " + domain}}
	case answer.Rcode == dns.RcodeNameError:
		return answer, nil
	case answer.Rcode != dns.RcodeSuccess:
		return nil, &WrongError{server.String(), "does not serve the parent zone of " + domain + ": it answers " + rcode(answer.Rcode)}
	}
	return answer, nil
}

func addressOf(record dns.RR) (netip.Addr, bool) {
	var address netip.Addr
	var ok bool
	switch r := record.(type) {
	case *dns.A:
		address, ok = netip.AddrFromSlice(r.A)
	case *dns.AAAA:
		address, ok = netip.AddrFromSlice(r.AAAA)
	}
	return address.Unmap(), ok
}
