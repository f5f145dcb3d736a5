// Package fake stands in for the registrars whose APIs can't be reached from a test:
// a registry with the rules that registries have, and before it the API of each
// registrar, which refuses what the real one refuses: wrong credentials, unknown
// fields, name servers below the domain without addresses, addresses in use.
package fake

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"

	"fediversity.eu/slipway/effects/registrars/account"
)

// State is what a registry holds of a domain.
type State struct {
	Servers []string
	Hosts   map[string][]string
	Keys    []Key
	DS      []DS
}

// Key is a DNSKEY that was stored, with the number that it has there.
type Key struct {
	ID               int64
	Flags, Algorithm int64
	Public           string
}

// DS is a digest that was stored.
type DS struct {
	Tag, Algorithm, Kind int64
	Digest               string
}

func (s State) clone() State {
	return State{slices.Clone(s.Servers), maps.Clone(s.Hosts), slices.Clone(s.Keys), slices.Clone(s.DS)}
}

// Registry holds one domain. What is set before it is used is not locked.
type Registry struct {
	Domain string
	// Delay is how many looks at the API it takes until a change shows.
	Delay int
	// Joint says that a host is part of a name server (OVHcloud's registries differ).
	Joint bool
	// Changed is called whenever a change shows, with what then holds.
	Changed func(State)
	// Trouble may answer a request of some method and path in the API's stead: with
	// an HTTP status, or with Hang. 0 lets it pass.
	Trouble func(method, path string) int
	// Others are further domains that the account at the registrar has (INWX).
	Others []*Registry
	// Now is the clock of one-time passwords. With one that somebody moves, each
	// password is taken once (RFC 6238 section 5.2); nil means the real time, and
	// that nobody counts.
	Now func() time.Time

	mu     sync.Mutex
	used   []string // one-time passwords
	truth  State
	shown  State
	wait   int
	next   int64
	writes []string
}

// Hang makes a request that Trouble answers get no answer at all.
const Hang = -1

// errors of the registry; each API has its own way to say them.
var (
	errMissing = errors.New("object does not exist")
	errExists  = errors.New("object exists")
	errInUse   = errors.New("object is associated with others")
	errInvalid = errors.New("parameter is invalid")
)

// NewRegistry makes a registry that holds a domain, delegated somewhere.
func NewRegistry(domain string, servers ...string) *Registry {
	s := State{Servers: servers, Hosts: map[string][]string{}}
	return &Registry{Domain: domain, truth: s, shown: s.clone(), next: 1000}
}

// Holds gives what shows at present, without being a look at the API.
func (r *Registry) Holds() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shown.clone()
}

// Writes lists the changes that were taken: "host ns1.example.org", "servers", "keys".
func (r *Registry) Writes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.writes)
}

// look is a look at the API; done says whether all changes show.
func (r *Registry) look() (s State, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wait > 0 {
		if r.wait--; r.wait == 0 {
			r.show()
		}
	}
	return r.shown.clone(), r.wait == 0
}

func (r *Registry) show() {
	r.shown = r.truth.clone()
	if r.Changed != nil {
		r.Changed(r.shown.clone())
	}
}

// write makes a change, unless the registry refuses it.
func (r *Registry) write(what string, change func(*State) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.truth.clone()
	if err := change(&s); err != nil {
		return err
	}
	r.truth = s
	r.writes = append(r.writes, what)
	r.wait = r.Delay
	if r.wait == 0 {
		r.show()
	}
	return nil
}

// takes tells whether a one-time password is one of now, or of half a minute ago, and
// was not given before.
func (r *Registry) takes(password string) bool {
	clock := time.Now
	if r.Now != nil {
		clock = r.Now
	}
	at := clock()
	now, _ := account.OneTime(inwxSecret, at)
	before, _ := account.OneTime(inwxSecret, at.Add(-30*time.Second))
	r.mu.Lock()
	defer r.mu.Unlock()
	if password != now && password != before || slices.Contains(r.used, password) {
		return false
	}
	if r.Now != nil {
		r.used = append(r.used, password)
	}
	return true
}

// of finds the registry of a domain of the account, by a name that is the domain or
// below it.
func (r *Registry) of(name string) *Registry {
	for _, other := range r.Others {
		if other.below(name) {
			return other
		}
	}
	return r
}

func (r *Registry) below(name string) bool {
	return name == r.Domain || strings.HasSuffix(name, "."+r.Domain)
}

func checkName(name string) error {
	if _, ok := dns.IsDomainName(name); !ok || strings.HasSuffix(name, ".") || name != strings.ToLower(name) || !strings.Contains(name, ".") {
		return fmt.Errorf("%w: host name %q", errInvalid, name)
	}
	return nil
}

func (r *Registry) checkAddresses(name string, addresses []string) error {
	if len(addresses) == 0 || !r.below(name) {
		return fmt.Errorf("%w: addresses of %q", errInvalid, name)
	}
	for _, text := range addresses {
		if _, err := netip.ParseAddr(text); err != nil {
			return fmt.Errorf("%w: address %q", errInvalid, text)
		}
	}
	return nil
}

// setHost creates or changes a host.
func (r *Registry) setHost(name string, addresses []string, known bool) error {
	return r.write("host "+name, func(s *State) error {
		if err := errors.Join(checkName(name), r.checkAddresses(name, addresses)); err != nil {
			return err
		}
		if _, exists := s.Hosts[name]; exists != known {
			if known {
				return errMissing
			}
			return errExists
		}
		s.Hosts[name] = slices.Clone(addresses)
		return nil
	})
}

func (r *Registry) removeHost(name string) error {
	return r.write("no host "+name, func(s *State) error {
		if _, ok := s.Hosts[name]; !ok {
			return errMissing
		}
		if slices.Contains(s.Servers, name) {
			return fmt.Errorf("%w: %s is a name server", errInUse, name)
		}
		delete(s.Hosts, name)
		return nil
	})
}

// setServers replaces the name servers; hosts are theirs where they are joint.
func (r *Registry) setServers(servers []string, hosts map[string][]string) error {
	return r.write("servers", func(s *State) error {
		if len(servers) == 0 || len(servers) > 13 {
			return fmt.Errorf("%w: %d name servers", errInvalid, len(servers))
		}
		if hosts != nil {
			s.Hosts = maps.Clone(hosts)
		}
		for i, name := range servers {
			if err := checkName(name); err != nil {
				return err
			}
			if slices.Contains(servers[:i], name) {
				return fmt.Errorf("%w: %s is there twice", errInvalid, name)
			}
			if _, ok := s.Hosts[name]; r.below(name) && !ok {
				return fmt.Errorf("%w: %s has no address", errInvalid, name)
			}
			if addresses, ok := hosts[name]; ok {
				if err := r.checkAddresses(name, addresses); err != nil {
					return err
				}
			}
		}
		s.Servers = slices.Clone(servers)
		return nil
	})
}

// checkKey holds a key to what registries hold keys to, by package dns alone.
func checkKey(k Key) error {
	public, err := base64.StdEncoding.Strict().DecodeString(k.Public)
	lengths := map[int64]int{13: 64, 14: 96, 15: 32, 16: 57}
	if want, fixed := lengths[k.Algorithm]; err != nil || k.Flags != 256 && k.Flags != 257 || fixed && len(public) != want || !fixed && (k.Algorithm != 8 && k.Algorithm != 10 || len(public) < 128) {
		return fmt.Errorf("%w: DNSKEY %d 3 %d %s", errInvalid, k.Flags, k.Algorithm, k.Public)
	}
	return nil
}

// same tells whether two keys are one, whatever their numbers.
func same(a, b Key) bool {
	return a.Flags == b.Flags && a.Algorithm == b.Algorithm && a.Public == b.Public
}

func (r *Registry) addKey(k Key) error {
	return r.write("key", func(s *State) error {
		if err := checkKey(k); err != nil {
			return err
		}
		if slices.ContainsFunc(s.Keys, func(other Key) bool { return same(k, other) }) {
			return errExists
		}
		r.next++
		k.ID = r.next
		s.Keys = append(s.Keys, k)
		return nil
	})
}

func (r *Registry) removeKey(id int64) error {
	return r.write("no key", func(s *State) error {
		before := len(s.Keys)
		s.Keys = slices.DeleteFunc(s.Keys, func(k Key) bool { return k.ID == id })
		if len(s.Keys) == before {
			return errMissing
		}
		return nil
	})
}

func (r *Registry) setKeys(keys []Key, most int) error {
	return r.write("keys", func(s *State) error {
		if len(keys) > most {
			return fmt.Errorf("%w: %d keys", errInvalid, len(keys))
		}
		s.Keys = nil
		for _, k := range keys {
			if err := checkKey(k); err != nil {
				return err
			}
			r.next++
			k.ID = r.next
			s.Keys = append(s.Keys, k)
		}
		return nil
	})
}

func (r *Registry) addDS(d DS) error {
	return r.write("ds", func(s *State) error {
		lengths := map[int64]int{1: 40, 2: 64, 4: 96}
		if d.Tag < 0 || d.Tag > 65535 || len(d.Digest) != lengths[d.Kind] || strings.Trim(d.Digest, "0123456789ABCDEFabcdef") != "" {
			return fmt.Errorf("%w: DS %v", errInvalid, d)
		}
		if slices.ContainsFunc(s.DS, func(other DS) bool { return other.Tag == d.Tag }) {
			return errExists
		}
		s.DS = append(s.DS, d)
		return nil
	})
}

func (r *Registry) removeDS(tag int64) error {
	return r.write("no ds", func(s *State) error {
		before := len(s.DS)
		s.DS = slices.DeleteFunc(s.DS, func(d DS) bool { return d.Tag == tag })
		if len(s.DS) == before {
			return errMissing
		}
		return nil
	})
}

// Records are what the parent zone has of the domain. The digests of stored keys are
// derived with SHA-256.
func (s State) Records(domain string) []dns.RR {
	domain = dns.Fqdn(domain)
	header := func(name string, kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: dns.Fqdn(name), Rrtype: kind, Class: dns.ClassINET, Ttl: 60}
	}
	var list []dns.RR
	for _, name := range s.Servers {
		list = append(list, &dns.NS{Hdr: header(domain, dns.TypeNS), Ns: dns.Fqdn(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Hosts)) {
		for _, text := range s.Hosts[name] {
			address := netip.MustParseAddr(text)
			if address.Is4() {
				list = append(list, &dns.A{Hdr: header(name, dns.TypeA), A: address.AsSlice()})
			} else {
				list = append(list, &dns.AAAA{Hdr: header(name, dns.TypeAAAA), AAAA: address.AsSlice()})
			}
		}
	}
	for _, k := range s.Keys {
		key := &dns.DNSKEY{Hdr: header(domain, dns.TypeDNSKEY), Flags: uint16(k.Flags), Protocol: 3, Algorithm: uint8(k.Algorithm), PublicKey: k.Public}
		ds := key.ToDS(dns.SHA256)
		ds.Hdr = header(domain, dns.TypeDS)
		list = append(list, ds)
	}
	for _, d := range s.DS {
		list = append(list, &dns.DS{
			Hdr: header(domain, dns.TypeDS), KeyTag: uint16(d.Tag), Algorithm: uint8(d.Algorithm), DigestType: uint8(d.Kind), Digest: strings.ToLower(d.Digest),
		})
	}
	return list
}
