package registrars

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/registrars/fake"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// scene is a domain at a registrar, with its name servers and those of its parent.
type scene struct {
	t         *testing.T
	registry  *fake.Registry
	first     *fake.Zone // at 127.0.0.11
	second    *fake.Zone // at 127.0.0.12
	key       *fake.SigningKey
	group     groups.Group
	variables map[string]string
	said      strings.Builder
	heard     func(text string) // what a run says, as it does
	out       bytes.Buffer
	record    *report.Record
	clock     atomic.Int64 // of one-time passwords, in seconds: every look takes one, and a run begins in a new half minute
	hasty     bool         // but a hasty one does not
}

// now looks at the clock.
func (s *scene) now() time.Time { return time.Unix(s.clock.Add(1), 0) }

// Take takes what a run says.
func (s *scene) Take(e report.Event) {
	fmt.Fprintln(&s.said, e.Level, e.Text)
	if s.heard != nil {
		s.heard(e.Text)
	}
}

const domain = "example.org"

func newScene(t *testing.T, registrar string) *scene {
	t.Helper()
	key, err := fake.NewKey(domain, true)
	assert.NilError(t, err)
	names := []string{"ns1.example.org", "ns2.example.org"}
	s := &scene{
		t: t, key: key, registry: fake.NewRegistry(domain, "a.other.net", "b.other.net"),
		first:  &fake.Zone{Domain: domain, Servers: names, Keys: []*fake.SigningKey{key}},
		second: &fake.Zone{Domain: domain, Servers: names, Keys: []*fake.SigningKey{key}},
		group:  groups.Group{Name: "operator", Delegations: []groups.Delegation{{}}},
	}
	s.registry.Now = s.now
	servers, err := fake.Serve(map[string]dns.Handler{"127.0.0.11": s.first, "127.0.0.12": s.second, "127.0.0.13": fake.Parent{Registry: s.registry}})
	assert.NilError(t, err)
	t.Cleanup(servers.Close)
	api := fake.Start(registrar, s.registry)
	t.Cleanup(api.Close)
	s.variables = map[string]string{
		"DNS_DOMAIN": domain, "REGISTRAR": registrar, "REGISTRAR_TIMEOUT": "1m",
		"DELEGATION_NAME_SERVERS": "ns1.example.org 127.0.0.11\nns2 127.0.0.12", "DELEGATION_DNSKEY": key.Data(),
		"DELEGATION_PORT": fmt.Sprint(servers.Port), "DELEGATION_PARENT": "127.0.0.13", "DELEGATION_TIMEOUT": "1m",
	}
	maps.Copy(s.variables, api.Environment)
	return s
}

// run makes one run of a verb, as a program would.
func (s *scene) run(verb string) error {
	s.t.Helper()
	return s.runContext(s.t.Context(), verb)
}

func (s *scene) runContext(ctx context.Context, verb string) error {
	s.t.Helper()
	if !s.hasty {
		s.clock.Store((s.clock.Load()/30 + 1) * 30)
	}
	made := New().Task(s.group, verb)
	switch verb := made.(type) {
	case *apply:
		verb.pause, verb.now = 5*time.Millisecond, s.now
	case *plan:
		verb.pause, verb.now = 5*time.Millisecond, s.now
	case *verify:
		verb.pause = 20 * time.Millisecond
	}
	environment := env.Map(s.variables)
	if err := environment.Load(ctx, env.For{Alone: true}, made.Coordinates()...); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	if checker, ok := made.(task.Checker); ok {
		if err := checker.Check(environment); err != nil {
			return err
		}
	}
	s.said.Reset()
	s.record = &report.Record{}
	s.out.Reset()
	return made.Run(ctx, &task.Run{Program: "operator-registrars", Environment: environment, Log: report.NewLog(s), Out: &s.out, Record: s.record})
}

// expect runs a verb and looks at how it ends.
func (s *scene) expect(verb string, code report.Code, says string) {
	s.t.Helper()
	err := s.run(verb)
	assert.Equal(s.t, report.CodeOf(err), code, "%s: %v\n%s", verb, err, s.said.String())
	if says != "" {
		assert.ErrorContains(s.t, err, says)
	}
}

// zones changes what the name servers say while they serve.
func (s *scene) zones(change func()) {
	s.first.Lock()
	defer s.first.Unlock()
	s.second.Lock()
	defer s.second.Unlock()
	change()
}

// unsigned says that the domain is not signed.
func (s *scene) unsigned() { s.variables["DELEGATION_DNSKEY"] = "none" }

func every(t *testing.T, do func(t *testing.T, name string)) {
	t.Helper()
	for _, r := range table {
		t.Run(r.name, func(t *testing.T) { do(t, r.name) })
	}
}
