package fake

import (
	"crypto"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// NameServers are name servers on addresses of the loopback, all on one port.
type NameServers struct {
	Port    int
	servers []*dns.Server
}

// Serve starts a name server on each address, 127.0.0.1 and others like it.
func Serve(handlers map[string]dns.Handler) (*NameServers, error) {
	var failed error
	for range 20 {
		s := &NameServers{}
		if failed = s.listen(handlers); failed == nil {
			return s, nil
		}
		s.Close()
	}
	return nil, failed
}

// listen takes whatever port is free on the first address, and the same elsewhere.
func (s *NameServers) listen(handlers map[string]dns.Handler) error {
	for address, handler := range handlers {
		tcp, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(s.Port))) //nolint:noctx // it ends at once
		if err != nil {
			return err
		}
		listening, ok := tcp.Addr().(*net.TCPAddr)
		if !ok {
			return errors.New("no address of TCP")
		}
		s.Port = listening.Port
		udp, err := net.ListenPacket("udp", tcp.Addr().String()) //nolint:noctx // as above
		if err != nil {
			_ = tcp.Close()
			return err
		}
		for _, server := range []*dns.Server{{Listener: tcp, Handler: handler}, {PacketConn: udp, Handler: handler}} {
			started := make(chan struct{})
			server.NotifyStartedFunc = func() { close(started) }
			go func() { _ = server.ActivateAndServe() }()
			<-started
			s.servers = append(s.servers, server)
		}
	}
	return nil
}

// Close stops them.
func (s *NameServers) Close() {
	for _, server := range s.servers {
		_ = server.Shutdown()
	}
}

// Zone is a name server of a domain, with what it says of it. Its fields may be
// changed while it serves.
type Zone struct {
	sync.Mutex
	Domain  string
	Servers []string
	Keys    []*SigningKey
	// Expired makes signatures that are of the past.
	Expired bool
	// Lame makes it refuse to answer for the domain, Silent not answer at all.
	Lame, Silent bool
	// Truncated makes it answer over TCP alone.
	Truncated bool
}

// SigningKey is a key with its private half. One that is not Active is served, and
// signs nothing.
type SigningKey struct {
	*dns.DNSKEY
	private crypto.Signer
	Active  bool
}

// NewKey makes a key of P-256.
func NewKey(domain string, active bool) (*SigningKey, error) {
	k := &dns.DNSKEY{
		Hdr:   dns.RR_Header{Name: dns.Fqdn(domain), Rrtype: dns.TypeDNSKEY, Class: dns.ClassINET, Ttl: 60},
		Flags: 257, Protocol: 3, Algorithm: dns.ECDSAP256SHA256,
	}
	private, err := k.Generate(256)
	if err != nil {
		return nil, err
	}
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key does not sign")
	}
	return &SigningKey{k, signer, active}, nil
}

// Data is the data of the record: "257 3 13 …".
func (k *SigningKey) Data() string {
	return "257 3 13 " + k.PublicKey
}

// ServeDNS answers for the domain's own records.
func (z *Zone) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	z.Lock()
	defer z.Unlock()
	answer := new(dns.Msg).SetReply(question)
	name := dns.Fqdn(z.Domain)
	_, overUDP := w.RemoteAddr().(*net.UDPAddr)
	switch {
	case z.Silent:
		return
	case z.Lame || !strings.EqualFold(question.Question[0].Name, name):
		answer.Rcode = dns.RcodeRefused
	case z.Truncated && overUDP:
		answer.Truncated = true
	default:
		answer.Authoritative = true
		answer.Answer = z.records(question.Question[0].Qtype)
	}
	_ = w.WriteMsg(answer)
}

func (z *Zone) records(kind uint16) []dns.RR {
	var list []dns.RR
	switch kind {
	case dns.TypeNS:
		for _, server := range z.Servers {
			list = append(list, &dns.NS{
				Hdr: dns.RR_Header{Name: dns.Fqdn(z.Domain), Rrtype: dns.TypeNS, Class: dns.ClassINET, Ttl: 60}, Ns: dns.Fqdn(server),
			})
		}
	case dns.TypeDNSKEY:
		for _, k := range z.Keys {
			list = append(list, k.DNSKEY)
		}
		for _, k := range z.Keys {
			if k.Active {
				list = append(list, z.sign(k, list[:len(z.Keys)]))
			}
		}
	}
	return list
}

func (z *Zone) sign(k *SigningKey, set []dns.RR) *dns.RRSIG {
	end := time.Now().Add(time.Hour)
	if z.Expired {
		end = time.Now().Add(-time.Minute)
	}
	signature := &dns.RRSIG{
		Hdr:       dns.RR_Header{Name: dns.Fqdn(z.Domain), Rrtype: dns.TypeRRSIG, Class: dns.ClassINET, Ttl: 60},
		Algorithm: k.Algorithm, KeyTag: k.KeyTag(), SignerName: dns.Fqdn(z.Domain),
		Inception: uint32(end.Add(-2 * time.Hour).Unix()), Expiration: uint32(end.Unix()),
	}
	if err := signature.Sign(k.private, set); err != nil {
		panic(err)
	}
	return signature
}

// Parent is a name server of the zone that delegates what a registry holds.
type Parent struct{ Registry *Registry }

// ServeDNS answers with a referral, and with digests.
func (p Parent) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	answer := new(dns.Msg).SetReply(question)
	asked := question.Question[0]
	if !strings.EqualFold(asked.Name, dns.Fqdn(p.Registry.Domain)) {
		answer.Rcode = dns.RcodeNameError
	}
	for _, record := range p.Registry.Holds().Records(p.Registry.Domain) {
		switch kind := record.Header().Rrtype; {
		case kind == dns.TypeDS && asked.Qtype == dns.TypeDS:
			answer.Authoritative = true
			answer.Answer = append(answer.Answer, record)
		case kind == dns.TypeNS && asked.Qtype != dns.TypeDS:
			answer.Ns = append(answer.Ns, record)
		case kind != dns.TypeDS && asked.Qtype != dns.TypeDS:
			answer.Extra = append(answer.Extra, record)
		}
	}
	_ = w.WriteMsg(answer)
}
