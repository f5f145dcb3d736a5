// Package suite tests the effect over any NetBox, the real one and the one that
// stands in for it: what it makes there, what it leaves alone, and what it says.
package suite

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects/netbox"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Server is a NetBox to test against. What the tests make in it they delete.
type Server struct {
	URL      string
	Token    string // of version 2, that may do anything
	TokenV1  string
	ReadOnly string // a token that may not write
	Slow     bool   // what is tried many times is tried less often
}

// A test of the suite. What is essential is enough to tell whether a NetBox is as we
// think: the rest tells more of the effect than of NetBox.
type test struct {
	name      string
	run       func(w *world)
	essential bool
}

var tests = []test{
	{"a first run creates, a second one has nothing to do", converges, true},
	{"a plan writes nothing", plans, false},
	{"what differs is put right, and nothing else is touched", repairs, true},
	{"addresses change places", swaps, true},
	{"an address and a service that are given up go", givesUp, false},
	{"a machine becomes hardware", becomesHardware, false},
	{"a machine that is not the group's any more goes on request", prunes, false},
	{"a copy with our tag stays until it is asked for", sparesCopies, false},
	{"the caller's names win over the group's", renames, false},
	{"what is not ours stops the run before it writes", stopsAtStrangers, true},
	{"what is not ours is used and left as it is", usesStrangers, false},
	{"a tag of others is not taken for ours", refusesTags, true},
	{"nothing of others goes along with what is ours", guards, true},
	{"destroy deletes what is marked and nothing else", destroys, true},
	{"what others use stays", sparesUsed, false},
	{"tokens of both versions are taken, others refused", tokens, true},
	{"lists of many pages are read to their end", pages, false},
	{"what NetBox refuses is said by object and field", validates, true},
	{"a run that is cut off at any write is finished by the next", finishes, false},
	{"an interrupted run is finished by the next", interrupted, false},
	{"a NetBox that is busy is asked again", asksAgain, false},
	{"a write that got no answer is not done twice", writesOnce, false},
	{"a write that was not taken is done again", writesAgain, false},
	{"a look that fails is unknown", looksFail, false},
}

// Run runs the suite. Each test asks for a server; it may be the same.
func Run(t *testing.T, given func(t *testing.T) Server) {
	run(t, given, func(test) bool { return true })
}

// Essential runs what is essential of the suite, for a NetBox that takes its time.
func Essential(t *testing.T, given func(t *testing.T) Server) {
	run(t, given, func(one test) bool { return one.essential })
}

func run(t *testing.T, given func(t *testing.T) Server, chosen func(test) bool) {
	for _, one := range tests {
		if chosen(one) {
			t.Run(one.name, func(t *testing.T) { one.run(newWorld(t, given(t))) })
		}
	}
}

// world is what one test has.
type world struct {
	*testing.T
	number int // of this world, which keeps its names from those of others
	server Server
	front  *front
	group  groups.Group
	env    map[string]string
	made   []beside
}

var worlds atomic.Int32

func newWorld(t *testing.T, server Server) *world {
	t.Helper()
	w := &world{T: t, number: int(worlds.Add(1)), server: server}
	w.front = newFront(t, server.URL)
	name := fmt.Sprintf("suite-%d", w.number)
	w.group = groups.Group{
		Name: name,
		Inventory: &groups.Inventory{
			Tenant: "Tenant of " + name, Site: "Site of " + name, Cluster: "cluster-of-" + name, ClusterType: "Type of " + name,
			Role: "Role of " + name, Platform: "Platform of " + name,
			Assets: []groups.Asset{
				{Machine: "web", Services: []groups.Service{{Name: "https", Ports: []string{"tcp/80", "tcp/443"}}}},
				{
					Machine: "metal", Interface: "eno1", Hardware: groups.Hardware{Manufacturer: "Maker of " + name, Model: "Model 1"},
					Services: []groups.Service{{Name: "ssh", Ports: []string{"tcp/22"}}},
				},
			},
		},
		Machines: []groups.Machine{
			{Name: "web", Placement: groups.External{}},
			{Name: "db", Placement: groups.External{}},
			{Name: "metal", Placement: groups.External{}},
			{Name: "local", Placement: groups.Local{MemoryMiB: 512, DiskMiB: 2048}},
		},
	}
	w.env = map[string]string{
		"NETBOX_URL": w.front.URL, "NETBOX_TOKEN": server.Token, "DNS_DOMAIN": "example.org",
		"WEB_ADDRESSES":   w.four(1) + ", " + w.six(1),
		"DB_ADDRESSES":    w.four(2),
		"METAL_ADDRESSES": w.four(3),
	}
	t.Cleanup(w.clean)
	return w
}

// clean deletes what the test and the effect made, should the test have failed to.
func (w *world) clean() {
	w.front.reset()
	w.forget()
	run := &task.Run{Log: &report.Log{}, Out: &bytes.Buffer{}, Record: &report.Record{}}
	destroy := netbox.New().Task(w.group, "destroy")
	ctx := context.WithoutCancel(w.Context())
	assert.Check(w, env.Map(w.env).Load(ctx, env.For{}, destroy.Coordinates()...))
	assert.Check(w, destroy.Run(ctx, run))
	w.forget() // what ours kept in use
}

// four and six are addresses of this world alone.
func (w *world) four(n int) string { return fmt.Sprintf("10.99.%d.%d", w.number, n) }
func (w *world) six(n int) string  { return fmt.Sprintf("2001:db8:%x::%x", w.number, n) }

// tag is the tag of the group.
func (w *world) tag() string { return "managed-by-" + w.group.Name }

// outcome is what a run came to.
type outcome struct {
	code    report.Code
	err     error
	out     string
	log     string
	record  *report.Record
	asked   map[string]int // requests by method
	hints   string
	changed bool
}

func (o outcome) writes() int {
	return o.asked["POST"] + o.asked["PATCH"] + o.asked["DELETE"] + o.asked["PUT"]
}

// run runs a verb, with some variables changed; an empty value takes one out.
func (w *world) run(verb string, changes ...string) outcome {
	w.Helper()
	return w.runFor(w.Context(), verb, changes...)
}

func (w *world) runFor(ctx context.Context, verb string, changes ...string) outcome {
	w.Helper()
	vars := maps.Clone(w.env)
	for _, change := range changes {
		name, value, _ := strings.Cut(change, "=")
		vars[name] = value
	}
	environment := env.Map(vars)
	it := netbox.New().Task(w.group, verb)
	assert.NilError(w, environment.Load(w.Context(), env.For{}, it.Coordinates()...))
	if checker, ok := it.(task.Checker); ok {
		assert.NilError(w, checker.Check(environment))
	}
	before := w.front.count()
	var out, log bytes.Buffer
	o := outcome{record: &report.Record{}, asked: map[string]int{}}
	o.err = it.Run(ctx, &task.Run{
		Program: w.group.Name + "-netbox-" + verb, Environment: environment,
		Log: report.NewLog(report.Plain(&log)), Out: &out, Record: o.record,
	})
	for method, n := range w.front.count() {
		o.asked[method] = n - before[method]
	}
	o.code, o.out, o.log, o.changed = report.CodeOf(o.err), out.String(), log.String(), o.record.Changed
	o.hints = strings.Join(report.Hints(o.err), "\n")
	w.Logf("%s %v: exit %d, %v, error %v\n%s%s", verb, changes, o.code, o.asked, o.err, o.out, o.log)
	assert.Assert(w, !strings.Contains(fmt.Sprint(o.err)+o.out+o.log, w.server.Token), "the token is shown")
	return o
}

// applied runs apply, which must end well.
func (w *world) applied(changes ...string) outcome {
	w.Helper()
	o := w.run("apply", changes...)
	assert.NilError(w, o.err)
	return o
}

// settled sees to it that there is nothing left to do.
func (w *world) settled(changes ...string) {
	w.Helper()
	o := w.applied(changes...)
	assert.Equal(w, o.writes(), 0)
	assert.Assert(w, !o.changed)
	assert.Assert(w, strings.Contains(o.log, "nothing to change"), o.log)
}

// edit changes what is known of a machine.
func (w *world) edit(machine string, change func(*groups.Asset)) {
	for i := range w.group.Inventory.Assets {
		if a := &w.group.Inventory.Assets[i]; a.Machine == machine {
			change(a)
			return
		}
	}
	asset := groups.Asset{Machine: machine}
	change(&asset)
	w.group.Inventory.Assets = append(w.group.Inventory.Assets, asset)
}

// contains holds a text to having others in it.
func contains(w *world, text string, parts ...string) {
	w.Helper()
	for _, part := range parts {
		assert.Check(w, strings.Contains(text, part), "%q is not in:\n%s", part, text)
	}
}
