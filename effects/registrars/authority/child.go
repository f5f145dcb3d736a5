package authority

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/miekg/dns"

	"fediversity.eu/slipway/effects/registrars/delegation"
	"fediversity.eu/slipway/effects/registrars/dnssec"
)

// Child is what a name server of a domain says about it.
type Child struct {
	Servers []string // names of the name servers
	Keys    []dnssec.Key
	Signing []dnssec.Key // those of Keys that sign the set of them, now
}

// Child asks a name server of a domain about it. A server that does not answer for
// the domain is a *WrongError.
func (a Asker) Child(ctx context.Context, server Server, domain string) (Child, error) {
	var c Child
	servers, err := a.authoritative(ctx, server, domain, dns.TypeNS)
	if err != nil {
		return c, err
	}
	c.Servers = names(servers.Answer, domain)
	keys, err := a.authoritative(ctx, server, domain, dns.TypeDNSKEY)
	if err != nil {
		return c, err
	}
	c.Keys, c.Signing, err = keysOf(keys.Answer, domain, time.Now())
	if err != nil {
		return c, &WrongError{server.String(), "serves a DNSKEY that is malformed: " + err.Error()}
	}
	return c, nil
}

// authoritative asks for records of a domain's own.
func (a Asker) authoritative(ctx context.Context, server Server, domain string, kind uint16) (*dns.Msg, error) {
	answer, err := a.ask(ctx, server, domain, kind)
	switch {
	case err != nil:
		return nil, err
	case answer.Rcode == dns.RcodeServerFailure:
		return nil, &SilentError{server.String(), &WrongError{"it", "answers SERVFAIL for " + domain}}
	case answer.Rcode != dns.RcodeSuccess:
		return nil, &WrongError{server.String(), "does not serve " + domain + ": it answers " + rcode(answer.Rcode)}
	case !answer.Authoritative:
		return nil, &WrongError{server.String(), "does not serve " + domain + ": its answer is not authoritative"}
	}
	return answer, nil
}

// keysOf gives the keys among records, and those of them that sign them all (RFC
// 4035 section 5.2). A signature by an algorithm that can't be checked here is none.
func keysOf(records []dns.RR, domain string, now time.Time) (keys, signing []dnssec.Key, err error) {
	var set []dns.RR
	var signatures []*dns.RRSIG
	for _, record := range records {
		if delegation.Name(record.Header().Name) != domain {
			continue
		}
		switch r := record.(type) {
		case *dns.DNSKEY:
			k, err := dnssec.ReadKey(int64(r.Flags), int64(r.Algorithm), r.PublicKey)
			if err != nil {
				return nil, nil, err
			}
			keys, set = append(keys, k), append(set, r)
		case *dns.RRSIG:
			if r.TypeCovered == dns.TypeDNSKEY && delegation.Name(r.SignerName) == domain && r.ValidityPeriod(now) {
				signatures = append(signatures, r)
			}
		}
	}
	for i, record := range set {
		for _, signature := range signatures {
			key, ok := record.(*dns.DNSKEY)
			if ok && signature.KeyTag == key.KeyTag() && signature.Algorithm == key.Algorithm && verified(signature, key, set) {
				signing = append(signing, keys[i])
				break
			}
		}
	}
	return keys, signing, nil
}

// verified checks a signature of a set by a key.
func verified(signature *dns.RRSIG, key *dns.DNSKEY, set []dns.RR) bool {
	if key.Algorithm == dns.ED448 {
		return verifiedEd448(signature, key, set)
	}
	return signature.Verify(key, set) == nil
}

// public gives the bytes of a key.
func public(key *dns.DNSKEY) []byte {
	decoded, err := base64.StdEncoding.DecodeString(key.PublicKey)
	if err != nil {
		return nil
	}
	return decoded
}
