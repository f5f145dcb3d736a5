//go:build checks

package checks

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

// Where the name servers of these checks are, all on one port: BIND with the zone
// above, Knot with most of the domains on two addresses, and another BIND with one
// domain. BIND listens only on addresses that an interface has.
const (
	aboveAddress  = "127.0.0.1"
	knotAddress   = "127.0.61.2"
	knotAddress2  = "127.0.61.3"
	bindAddress   = "::1"
	aboveZone     = "example."
	aboveKey      = "registry."
	aboveSecret   = "cmVnaXN0cnktb2YtdGhlLWNoZWNrLXJlZ2lzdHJhcnM="
	daemonsPath   = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	bindDomain    = "bind.example"
	knotDomain    = "ecdsap256sha256.example"
	daemonsLimit  = 3 * time.Minute
	unansweredTry = time.Minute
)

// knotAlgorithms are those that Knot signs a domain with, which is called like it.
var knotAlgorithms = []string{"rsasha256", "ecdsap256sha256", "ecdsap384sha384", "ed25519", "ed448"}

// delegated are name servers on loopback: those of a zone, and those of the domains
// that are delegated from it.
type delegated struct {
	t    *testing.T
	dir  string
	port int
}

// newDelegated starts them, with signed domains and nothing delegated.
func newDelegated(t *testing.T) *delegated {
	t.Helper()
	for _, program := range []string{"named", "knotd", "keymgr"} {
		if _, err := child.Find(program, []string{daemonsPath}); err != nil {
			t.Skipf("missing part: %s, of bind9 or knot", program)
		}
	}
	loopback, err := net.Listen("tcp", net.JoinHostPort(bindAddress, "0"))
	if err != nil {
		t.Skip("missing part: IPv6 on the loopback interface")
	}
	assert.NilError(t, loopback.Close())
	d := &delegated{t: t, dir: t.TempDir(), port: portOfAll(t)}
	d.daemon("above", child.Command{Path: "named", Args: []string{"-g", "-c", d.above()}}, aboveAddress, aboveZone, dns.TypeSOA)
	d.daemon("knot", child.Command{Path: "knotd", Args: []string{"-c", d.knot()}}, knotAddress, knotDomain, dns.TypeDNSKEY)
	for _, algorithm := range knotAlgorithms { // it signs one after the other
		d.answers("knot", nil, knotAddress, algorithm+".example", dns.TypeDNSKEY)
	}
	d.daemon("bind", child.Command{Path: "named", Args: []string{"-g", "-c", d.bind()}}, bindAddress, bindDomain, dns.TypeDNSKEY)
	return d
}

// portOfAll finds a port that is free on every address, over TCP and UDP.
func portOfAll(t *testing.T) int {
	t.Helper()
next:
	for range 50 {
		port := quietPort()
		for _, address := range []string{aboveAddress, knotAddress, knotAddress2, bindAddress} {
			tcp, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
			if err != nil {
				continue next
			}
			assert.NilError(t, tcp.Close())
			udp, err := net.ListenPacket("udp", net.JoinHostPort(address, strconv.Itoa(port)))
			if err != nil {
				continue next
			}
			assert.NilError(t, udp.Close())
		}
		return port
	}
	t.Fatal("no port is free on all addresses")
	return 0
}

// write puts a file into the folder of a daemon.
func (d *delegated) write(daemon, name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, daemon, name)
	assert.NilError(d.t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.NilError(d.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (d *delegated) options(daemon, address string) string {
	listen := fmt.Sprintf("listen-on port %d { %s; }; listen-on-v6 { none; }", d.port, address)
	if strings.Contains(address, ":") {
		listen = fmt.Sprintf("listen-on-v6 port %d { %s; }; listen-on { none; }", d.port, address)
	}
	return fmt.Sprintf(`options {
  directory %q; %s;
  pid-file none; session-keyfile none; lock-file none; managed-keys-directory %q;
  recursion no; dnssec-validation no; notify no; minimal-responses yes; allow-transfer { none; };
};
controls { };
`, filepath.Join(d.dir, daemon), listen, filepath.Join(d.dir, daemon))
}

func (d *delegated) above() string {
	zone := d.write("above", "example.zone", "$ORIGIN example.\n@ 60 IN SOA ns root 1 60 60 60 60\n@ 60 IN NS ns\nns 60 IN A "+aboveAddress+"\n")
	return d.write("above", "named.conf", d.options("above", aboveAddress)+fmt.Sprintf(`key %q { algorithm hmac-sha256; secret %q; };
zone %q { type primary; file %q; allow-update { key %q; }; };
`, aboveKey, aboveSecret, aboveZone, zone, aboveKey))
}

// ownZone is a domain with its name servers below it.
func ownZone(domain string, addresses ...string) string {
	text := fmt.Sprintf("$ORIGIN %s.\n@ 60 IN SOA ns1 root 1 60 60 60 60\n", domain)
	for i, address := range addresses {
		text += fmt.Sprintf("@ 60 IN NS ns%d\nns%d 60 IN %s %s\n", i+1, i+1, addressRecord(address), address)
	}
	return text
}

// addressRecord is the type of record that an address has.
func addressRecord(address string) string {
	if strings.Contains(address, ":") {
		return "AAAA"
	}
	return "A"
}

func (d *delegated) knot() string {
	var policies, zones strings.Builder
	for _, algorithm := range knotAlgorithms {
		domain := algorithm + ".example"
		fmt.Fprintf(&policies, "  - id: %s\n    algorithm: %s\n", algorithm, algorithm)
		fmt.Fprintf(&zones, "  - domain: %s\n    file: %q\n    zonefile-sync: -1\n    dnssec-signing: on\n    dnssec-policy: %s\n",
			domain, d.write("knot", domain+".zone", ownZone(domain, knotAddress, knotAddress2)), algorithm)
	}
	assert.NilError(d.t, os.MkdirAll(filepath.Join(d.dir, "knot", "run"), 0o700))
	return d.write("knot", "knot.conf", fmt.Sprintf("server:\n    rundir: %q\n    listen: [%s@%d, %s@%d]\ndatabase:\n    storage: %q\nlog:\n  - target: stderr\n    any: info\npolicy:\n%szone:\n%s",
		filepath.Join(d.dir, "knot", "run"), knotAddress, d.port, knotAddress2, d.port, filepath.Join(d.dir, "knot"), policies.String(), zones.String()))
}

func (d *delegated) bind() string {
	zone := d.write("bind", "bind.zone", ownZone(bindDomain, bindAddress))
	return d.write("bind", "named.conf", d.options("bind", bindAddress)+
		fmt.Sprintf("zone %q { type primary; file %q; dnssec-policy default; inline-signing yes; };\n", bindDomain, zone))
}

// daemon runs a name server until the test ends, and waits until it has an answer.
func (d *delegated) daemon(name string, command child.Command, address, zone string, kind uint16) {
	d.t.Helper()
	running, stop := context.WithCancel(context.WithoutCancel(d.t.Context()))
	output, ended := &shared{}, make(chan struct{})
	command.Env, command.Dir = []string{daemonsPath, "LC_ALL=C.UTF-8"}, filepath.Join(d.dir, name)
	command.Stdout, command.Stderr = output, output
	go func() {
		defer close(ended)
		_ = command.Run(running) // what matters is in its output
	}()
	d.t.Cleanup(func() {
		stop()
		<-ended
		if d.t.Failed() {
			d.t.Logf("%s said:\n%s", name, output)
		}
	})
	d.answers(name, ended, address, zone, kind)
}

// answers waits until a name server that has not ended has an answer.
func (d *delegated) answers(name string, ended <-chan struct{}, address, zone string, kind uint16) {
	d.t.Helper()
	err := wait.For{What: name + " to answer for " + zone, Limit: daemonsLimit}.Until(d.t.Context(), func(ctx context.Context) error {
		select {
		case <-ended:
			return wait.Stop(fmt.Errorf("%s ended", name))
		default:
		}
		answer, err := d.ask(ctx, address, zone, kind)
		if err == nil && (len(answer.Answer) == 0 || !answer.Authoritative) {
			err = fmt.Errorf("it answers %s", dns.RcodeToString[answer.Rcode])
		}
		return err
	})
	assert.NilError(d.t, err)
}

// shared is a buffer that is read while it is written.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// ask is a question to a name server, as a witness that is not under test.
func (d *delegated) ask(ctx context.Context, address, name string, kind uint16) (*dns.Msg, error) {
	m := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	m.RecursionDesired = false
	client := &dns.Client{Net: "tcp", Timeout: unansweredTry}
	answer, _, err := client.ExchangeContext(ctx, m, net.JoinHostPort(address, strconv.Itoa(d.port)))
	return answer, err
}

// says lists what the zone above says of a name: a referral, or digests.
func (d *delegated) says(name string, kind uint16) []string {
	d.t.Helper()
	answer, err := d.ask(d.t.Context(), aboveAddress, name, kind)
	assert.NilError(d.t, err)
	var list []string
	for _, record := range append(append(answer.Answer, answer.Ns...), answer.Extra...) {
		if record.Header().Rrtype != dns.TypeSOA {
			list = append(list, strings.Join(strings.Fields(record.String()), " "))
		}
	}
	return list
}

// publish is what a registry does when a domain changes: it writes the zone above.
func (d *delegated) publish(domain string) func(fake.State) {
	written := map[string]bool{dns.Fqdn(domain): true}
	return func(s fake.State) {
		m := new(dns.Msg).SetUpdate(aboveZone)
		for name := range written {
			m.RemoveName([]dns.RR{&dns.ANY{Hdr: dns.RR_Header{Name: name}}})
		}
		records := s.Records(domain)
		m.Insert(records)
		for _, record := range records {
			written[record.Header().Name] = true
		}
		m.SetTsig(aboveKey, dns.HmacSHA256, 300, time.Now().Unix())
		client := &dns.Client{Net: "tcp", Timeout: unansweredTry, TsigSecret: map[string]string{aboveKey: aboveSecret}}
		answer, _, err := client.Exchange(m, net.JoinHostPort(aboveAddress, strconv.Itoa(d.port)))
		assert.Check(d.t, err)
		assert.Check(d.t, answer != nil && answer.Rcode == dns.RcodeSuccess, "the zone above is not written: %v", answer)
	}
}

// keymgr is what Knot itself says of a domain's keys: "ds" or "dnskey".
func (d *delegated) keymgr(domain, what string) []string {
	d.t.Helper()
	out, err := child.Command{
		Path: "keymgr", Args: []string{"-c", filepath.Join(d.dir, "knot", "knot.conf"), domain, what}, Env: []string{daemonsPath},
	}.Output(d.t.Context())
	assert.NilError(d.t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// entryPoint is the key that a domain is to be delegated with, as its own server
// has it.
func (d *delegated) entryPoint(address, domain string) string {
	d.t.Helper()
	answer, err := d.ask(d.t.Context(), address, domain, dns.TypeDNSKEY)
	assert.NilError(d.t, err)
	for _, record := range answer.Answer {
		if key, ok := record.(*dns.DNSKEY); ok && key.Flags == 257 {
			return key.String()
		}
	}
	d.t.Fatalf("%s has no entry point: %v", domain, answer)
	return ""
}
