//go:build checks

package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

// The TSIG key of the servers.
const (
	tsigName   = "slipway."
	tsigSecret = "c2xpcHdheSBzaWducyB1cGRhdGVzIG9mIHpvbmVzIQ=="
)

// nameServer is a real DNS server on loopback.
type nameServer struct {
	t       *testing.T
	kind    string
	dir     string
	port    int // of DNS
	api     int // of the API, where it has one
	command child.Command
	vars    map[string]string // coordinates that lead to it
	stop    func()
}

// kindsOfServers are those that the checks run against.
var kindsOfServers = []struct {
	name, program string
	configure     func(s *nameServer, zones []string)
}{
	{"BIND", "named", (*nameServer).bind},
	{"Knot", "knotd", (*nameServer).knot},
	{"PowerDNS", "pdns_server", (*nameServer).powerDNS},
}

// serverPath is where Debian has servers.
var serverPath = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}

// newNameServer starts a server of a kind that serves zones, each with nothing
// but what a zone must have.
func newNameServer(t *testing.T, kind string, zones ...string) *nameServer {
	t.Helper()
	s := &nameServer{t: t, kind: kind, dir: t.TempDir(), port: freeNamePort(t)}
	for _, k := range kindsOfServers {
		if k.name != kind {
			continue
		}
		if _, err := child.Find(k.program, serverPath); err != nil {
			t.Skipf("missing part: %s (%s)", kind, k.program)
		}
		k.configure(s, zones)
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// quietPort is a port by chance, below those that Linux gives to whoever asks for
// any (ip_local_port_range, from 32768 on): while a server is about to take it,
// nobody else gets it.
func quietPort() int { return 10000 + rand.IntN(22000) }

// freeNamePort finds a port that neither TCP nor UDP has taken.
func freeNamePort(t *testing.T) int {
	t.Helper()
	for range 20 {
		port := quietPort()
		tcp, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		udp, err := net.ListenPacket("udp", "127.0.0.1:"+strconv.Itoa(port))
		assert.NilError(t, tcp.Close())
		if err == nil {
			assert.NilError(t, udp.Close())
			return port
		}
	}
	t.Fatal("no port is free for TCP and UDP")
	return 0
}

func (s *nameServer) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, strings.ReplaceAll(name, "/", "-")) // some zones have one in their names
	assert.NilError(s.t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// emptyZone is the least that a zone file holds. Its name server is elsewhere.
func emptyZone(zone string) string {
	return fmt.Sprintf("$ORIGIN %s\n@ 3600 IN SOA ns.example.net. hostmaster.example.net. 1 3600 600 86400 300\n@ 3600 IN NS ns.example.net.\n", zone)
}

func (s *nameServer) bind(zones []string) {
	var b strings.Builder
	fmt.Fprintf(&b, `options {
  directory %q; listen-on port %d { 127.0.0.1; }; listen-on-v6 { none; };
  pid-file none; session-keyfile "%s/session.key"; lock-file none;
  recursion no; dnssec-validation no; notify no; allow-transfer { none; };
};
controls { };
key %q { algorithm hmac-sha256; secret %q; };
`, s.dir, s.port, s.dir, tsigName, tsigSecret)
	for _, zone := range zones {
		file := s.write(zone+"zone", emptyZone(zone))
		fmt.Fprintf(&b, "zone %q { type primary; file %q; allow-update { key %q; }; allow-transfer { key %q; }; };\n", zone, file, tsigName, tsigName)
	}
	s.command = child.Command{Path: "named", Args: []string{"-g", "-c", s.write("named.conf", b.String())}}
	s.vars = s.updates()
}

func (s *nameServer) knot(zones []string) {
	var b strings.Builder
	fmt.Fprintf(&b, `server:
  rundir: %q
  listen: 127.0.0.1@%d
log:
  - target: stderr
    any: info
database:
  storage: %q
key:
  - id: %s
    algorithm: hmac-sha256
    secret: %s
acl:
  - id: writer
    key: %s
    action: [transfer, update]
zone:
`, s.dir, s.port, s.dir, tsigName, tsigSecret, tsigName)
	for _, zone := range zones {
		fmt.Fprintf(&b, "  - domain: %s\n    file: %q\n    acl: writer\n", zone, s.write(zone+"zone", emptyZone(zone)))
	}
	s.command = child.Command{Path: "knotd", Args: []string{"-c", s.write("knot.conf", b.String())}}
	s.vars = s.updates()
}

// updates are the coordinates of a server that takes dynamic updates.
func (s *nameServer) updates() map[string]string {
	return map[string]string{
		"DNS_PROVIDER": "rfc2136", "DNS_SERVER": "127.0.0.1", "DNS_PORT": strconv.Itoa(s.port),
		"DNS_TSIG_NAME": tsigName, "DNS_TSIG_SECRET": tsigSecret,
	}
}

func (s *nameServer) powerDNS(zones []string) {
	const schema = "/usr/share/doc/pdns-backend-sqlite3/schema.sqlite3.sql"
	text, err := os.ReadFile(schema)
	if err != nil {
		s.t.Skip("missing part: pdns-backend-sqlite3")
	}
	if _, err := child.Find("sqlite3", serverPath); err != nil {
		s.t.Skip("missing part: sqlite3")
	}
	s.api = freeNamePort(s.t)
	database := filepath.Join(s.dir, "pdns.sqlite3")
	for _, zone := range zones {
		name := strings.TrimSuffix(zone, ".")
		text = fmt.Appendf(text, "INSERT INTO domains (name, type) VALUES ('%s', 'NATIVE');\n", name)
		for kind, content := range map[string]string{"SOA": "ns.example.net hostmaster.example.net 1 3600 600 86400 300", "NS": "ns.example.net"} {
			text = fmt.Appendf(text, "INSERT INTO records (domain_id, name, type, content, ttl, prio, disabled, auth) SELECT id, '%s', '%s', '%s', 3600, 0, 0, 1 FROM domains WHERE name = '%s';\n", name, kind, content, name)
		}
	}
	assert.NilError(s.t, child.Command{Path: "sqlite3", Args: []string{database}, Env: serverPath, Stdin: bytes.NewReader(text)}.Run(s.t.Context()))
	key := "api-key-of-a-check"
	s.write("pdns.conf", fmt.Sprintf(`launch=gsqlite3
gsqlite3-database=%s
local-address=127.0.0.1
local-port=%d
webserver=yes
webserver-address=127.0.0.1
webserver-port=%d
api=yes
api-key=%s
socket-dir=%s
zone-cache-refresh-interval=0
cache-ttl=0
query-cache-ttl=0
negquery-cache-ttl=0
`, database, s.port, s.api, key, s.dir))
	s.command = child.Command{Path: "pdns_server", Args: []string{"--config-dir=" + s.dir, "--daemon=no", "--guardian=no", "--write-pid=no"}}
	s.vars = map[string]string{"DNS_PROVIDER": "powerdns", "DNS_API": "http://127.0.0.1:" + strconv.Itoa(s.api), "DNS_TOKEN": key}
}

// start runs the server until stop is called, and waits until it answers.
func (s *nameServer) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	said := newWatched()
	s.command.Env, s.command.Dir, s.command.Stdout, s.command.Stderr = serverPath, s.dir, said, said
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.command.Run(ctx) // it is asked to end, and says so
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		if s.t.Failed() {
			s.t.Logf("%s said:\n%s", s.kind, said)
		}
	})
	ports := []int{s.port}
	if s.api != 0 {
		ports = append(ports, s.api)
	}
	for _, port := range ports {
		err := wait.For{What: s.kind + " to answer", Limit: 3 * time.Minute, Interval: 20 * time.Millisecond}.Until(s.t.Context(), func(ctx context.Context) error {
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
			if err != nil {
				return err
			}
			return conn.Close()
		})
		if err != nil {
			s.stop()
			s.t.Fatalf("%v\n%s", err, said)
		}
	}
}

// ask gives what the server answers to a question, as a zone file writes it but
// with long texts in one piece, sorted.
func (s *nameServer) ask(name, kind string) []string {
	s.t.Helper()
	query := new(mdns.Msg)
	query.SetQuestion(name, mdns.StringToType[kind])
	query.RecursionDesired = false
	client := mdns.Client{Net: "tcp", Timeout: time.Minute}
	answer, _, err := client.ExchangeContext(s.t.Context(), query, "127.0.0.1:"+strconv.Itoa(s.port))
	assert.NilError(s.t, err)
	var values []string
	for _, section := range [][]mdns.RR{answer.Answer, answer.Ns} {
		for _, rr := range section {
			if rr.Header().Name == name && mdns.TypeToString[rr.Header().Rrtype] == kind {
				if txt, ok := rr.(*mdns.TXT); ok {
					txt.Txt = []string{strings.Join(txt.Txt, "")}
				}
				values = append(values, strings.ReplaceAll(rr.String(), "\t", " "))
			}
		}
	}
	slices.Sort(values)
	return values
}

// serial is that of a zone: it grows with every change.
func (s *nameServer) serial(zone string) string {
	s.t.Helper()
	soa := s.ask(zone, "SOA")
	assert.Equal(s.t, len(soa), 1)
	return strings.Fields(soa[0])[6]
}

// set makes a record of a zone what somebody else wants it to be: these values,
// or none.
func (s *nameServer) set(zone, name, kind string, values ...string) {
	s.t.Helper()
	if s.api != 0 {
		s.patch(zone, name, kind, values)
		return
	}
	var rrs []mdns.RR
	for _, value := range values {
		rr, err := mdns.NewRR(fmt.Sprintf("%s 3600 IN %s %s", name, kind, value))
		assert.NilError(s.t, err)
		rrs = append(rrs, rr)
	}
	m := new(mdns.Msg)
	m.SetUpdate(zone)
	m.RemoveRRset([]mdns.RR{&mdns.ANY{Hdr: mdns.RR_Header{Name: name, Rrtype: mdns.StringToType[kind]}}})
	m.Insert(rrs)
	m.SetTsig(tsigName, mdns.HmacSHA256, 300, time.Now().Unix())
	client := mdns.Client{Net: "tcp", Timeout: time.Minute, TsigSecret: map[string]string{tsigName: tsigSecret}}
	answer, _, err := client.ExchangeContext(s.t.Context(), m, "127.0.0.1:"+strconv.Itoa(s.port))
	assert.NilError(s.t, err)
	assert.Equal(s.t, answer.Rcode, mdns.RcodeSuccess, mdns.RcodeToString[answer.Rcode])
}

// patch sets a record by PowerDNS's API.
func (s *nameServer) patch(zone, name, kind string, values []string) {
	s.t.Helper()
	type object = map[string]any
	set := object{"name": name, "type": kind, "ttl": 3600, "changetype": "DELETE"}
	if len(values) > 0 {
		var records []object
		for _, value := range values {
			records = append(records, object{"content": value, "disabled": false})
		}
		set["changetype"], set["records"] = "REPLACE", records
	}
	body, err := json.Marshal(object{"rrsets": []object{set}})
	assert.NilError(s.t, err)
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPatch, s.vars["DNS_API"]+"/api/v1/servers/localhost/zones/"+zone, bytes.NewReader(body))
	assert.NilError(s.t, err)
	request.Header.Set("X-API-Key", s.vars["DNS_TOKEN"])
	answer, err := http.DefaultClient.Do(request)
	assert.NilError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	said, err := io.ReadAll(answer.Body)
	assert.NilError(s.t, err)
	assert.Equal(s.t, answer.StatusCode, http.StatusNoContent, "%s", said)
}
