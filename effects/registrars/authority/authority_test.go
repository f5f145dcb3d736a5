package authority

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cloudflare/circl/sign/ed448"
	"github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
)

// resolver answers from a table: "example.org. NS" to records.
func resolver(records map[string][]string) dns.HandlerFunc {
	return func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		asked := question.Question[0]
		list, ok := records[asked.Name+" "+dns.TypeToString[asked.Qtype]]
		if !ok && asked.Name == "gone.example." {
			answer.Rcode = dns.RcodeServerFailure
		}
		for _, text := range list {
			record, err := dns.NewRR(text)
			if err != nil {
				panic(err)
			}
			answer.Answer = append(answer.Answer, record)
		}
		_ = w.WriteMsg(answer)
	}
}

func asker(t *testing.T, handlers map[string]dns.Handler) Asker {
	t.Helper()
	servers, err := fake.Serve(handlers)
	assert.NilError(t, err)
	t.Cleanup(servers.Close)
	return Asker{Port: servers.Port, Resolver: fmt.Sprintf("127.0.0.1:%d", servers.Port)}
}

func TestServersOfTheParentZone(t *testing.T) {
	a := asker(t, map[string]dns.Handler{"127.0.0.1": resolver(map[string][]string{
		"example. NS":      {"example. 60 IN NS A.nic.example."},
		"a.nic.example. A": {"a.nic.example. 60 IN A 192.0.2.1"}, "a.nic.example. AAAA": {"a.nic.example. 60 IN AAAA 2001:db8::1"},
		". NS": {". 60 IN NS root.example."}, "root.example. A": {"root.example. 60 IN CNAME r.example.", "r.example. 60 IN A 192.0.2.9"},
	})})
	for _, c := range []struct{ domain, servers string }{
		{"sub.example", "[a.nic.example (192.0.2.1) a.nic.example (2001:db8::1)]"},
		{"a.b.c.example", "[a.nic.example (192.0.2.1) a.nic.example (2001:db8::1)]"},
		{"example.org", "[root.example (192.0.2.9)]"},
	} {
		servers, err := a.ParentServers(t.Context(), c.domain)
		assert.NilError(t, err)
		assert.Equal(t, fmt.Sprint(servers), c.servers)
	}
	_, err := a.Addresses(t.Context(), "nobody.example")
	_, wrong := errors.AsType[*WrongError](err)
	assert.Assert(t, wrong, "that there is no address is known: %v", err)
	_, err = a.Addresses(t.Context(), "gone.example")
	_, silent := errors.AsType[*SilentError](err)
	assert.Assert(t, silent && strings.Contains(err.Error(), "SERVFAIL"), "a resolver that fails knows nothing: %v", err)
}

func TestWhatAParentSays(t *testing.T) {
	registry := fake.NewRegistry("example.org", "ns1.example.org", "ns.example.net")
	zone := &fake.Zone{Domain: "example.org", Servers: []string{"ns1.example.org"}}
	a := asker(t, map[string]dns.Handler{"127.0.0.1": fake.Parent{Registry: registry}, "127.0.0.2": zone})
	server := Server{Name: "parent", Address: netip.MustParseAddr("127.0.0.1")}
	says, err := a.Parent(t.Context(), server, "example.org")
	assert.NilError(t, err)
	assert.DeepEqual(t, says.Servers, []string{"ns.example.net", "ns1.example.org"})
	assert.Assert(t, !says.Signed() && !says.Both)
	says, err = a.Parent(t.Context(), server, "example.com")
	assert.NilError(t, err)
	assert.Equal(t, len(says.Servers), 0)
	// A server that has the domain too answers for that.
	says, err = a.Parent(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.2")}, "example.org")
	assert.NilError(t, err)
	assert.Assert(t, says.Both)
	zone.Lock()
	zone.Lame = true
	zone.Unlock()
	_, err = a.Parent(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.2")}, "example.org")
	assert.ErrorContains(t, err, "127.0.0.2 does not serve the parent zone of example.org: it answers REFUSED")
}

func TestAnAnswerToAnotherQuestion(t *testing.T) {
	a := asker(t, map[string]dns.Handler{"127.0.0.1": dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		answer.Question[0].Name = "example.com."
		answer.Authoritative = true
		_ = w.WriteMsg(answer)
	})})
	_, err := a.Child(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.1")}, "example.org")
	_, silent := errors.AsType[*SilentError](err)
	assert.Assert(t, silent, "%v", err)
}

func TestAnAnswerFromHearsay(t *testing.T) {
	a := asker(t, map[string]dns.Handler{"127.0.0.1": resolver(map[string][]string{"example.org. NS": {"example.org. 60 IN NS a.example.net."}})})
	_, err := a.Child(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.1")}, "example.org")
	assert.ErrorContains(t, err, "127.0.0.1 does not serve example.org: its answer is not authoritative")
}

func TestKeysThatSign(t *testing.T) {
	first, err := fake.NewKey("example.org", true)
	assert.NilError(t, err)
	idle, err := fake.NewKey("example.org", false)
	assert.NilError(t, err)
	zone := &fake.Zone{Domain: "example.org", Keys: []*fake.SigningKey{idle, first}}
	a := asker(t, map[string]dns.Handler{"127.0.0.1": zone})
	child, err := a.Child(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.1")}, "example.org")
	assert.NilError(t, err)
	assert.Equal(t, len(child.Keys), 2)
	assert.Equal(t, len(child.Signing), 1)
	assert.Equal(t, child.Signing[0].String(), first.Data())
	zone.Lock()
	zone.Expired = true
	zone.Unlock()
	child, err = a.Child(t.Context(), Server{Address: netip.MustParseAddr("127.0.0.1")}, "example.org")
	assert.NilError(t, err)
	assert.Equal(t, len(child.Keys)-len(child.Signing), 2, "a signature of the past is none")
}

// TestSignaturesOfEd448 shows that a signature holds for what it is of, and for
// nothing else. That it is the one of RFC 8080 is shown beside Knot, which signs so.
func TestSignaturesOfEd448(t *testing.T) {
	public, private, err := ed448.GenerateKey(rand.Reader)
	assert.NilError(t, err)
	key := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: "Example.org.", Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 60},
		Flags: 257, Protocol: 3, Algorithm: dns.ED448, PublicKey: base64.StdEncoding.EncodeToString(public),
	}
	other, err := fake.NewKey("example.org", true)
	assert.NilError(t, err)
	now := time.Now()
	signature := &dns.RRSIG{
		Hdr:         dns.RR_Header{Name: "example.org.", Rrtype: dns.TypeRRSIG, Class: dns.ClassINET, Ttl: 60},
		TypeCovered: dns.TypeDNSKEY, Algorithm: dns.ED448, Labels: 2, OrigTtl: 60, KeyTag: key.KeyTag(), SignerName: "example.org.",
		Inception: uint32(now.Add(-time.Hour).Unix()), Expiration: uint32(now.Add(time.Hour).Unix()),
	}
	set := []dns.RR{key, other.DNSKEY}
	signed, err := signedData(signature, set)
	assert.NilError(t, err)
	signature.Signature = base64.StdEncoding.EncodeToString(ed448.Sign(private, signed, ""))
	signing := func(records ...dns.RR) int {
		_, signing, err := keysOf(append(records, signature), "example.org", now)
		assert.NilError(t, err)
		return len(signing)
	}
	assert.Equal(t, signing(key, other.DNSKEY), 1)
	assert.Equal(t, signing(other.DNSKEY, key), 1, "the order of records is none")
	assert.Equal(t, signing(key), 0, "of a smaller set")
	signature.OrigTtl = 61
	assert.Equal(t, signing(key, other.DNSKEY), 0, "of other data")
	signature.OrigTtl, signature.Signature = 60, "AAAA"
	assert.Equal(t, signing(key, other.DNSKEY), 0, "of no signature")
}
