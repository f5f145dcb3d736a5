package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// whole is a group with parts, each "group method".
func whole(name string, parts ...string) groups.Group {
	g := groups.Group{Name: name, Description: "groups of a test"}
	for _, part := range parts {
		group, method, _ := strings.Cut(part, " ")
		g.Parts = append(g.Parts, groups.Part{Group: group, Method: method})
	}
	return g
}

func TestFaultsOfGroupsWithParts(t *testing.T) {
	ways := []string{"ssh"}
	with := func(change func(g *groups.Group)) groups.Group {
		g := whole("house", "host ssh", "guests ssh")
		change(&g)
		return g
	}
	for _, c := range []struct {
		name  string
		group groups.Group
		want  string
	}{
		{"a name", with(func(g *groups.Group) { g.Name = "House" }), `group "House": not a name`},
		{"a name of ours", with(func(g *groups.Group) { g.Name = "checks" }), `group "checks": a reserved word`},
		{"no description", with(func(g *groups.Group) { g.Description = "" }), `group "house": no description`},
		{"a part that is no group", whole("house", "host ssh", "gusts ssh"), `part "gusts": no such group; there are guests, host, twin`},
		{"a part of itself", whole("house", "house ssh"), `part "house": a group is no part of itself`},
		{"a part that has parts", whole("house", "street ssh"), `part "street": it has parts itself; name those`},
		{"a part twice", whole("house", "host ssh", "host tf"), `part "host": named twice`},
		{"a method that a part does not have", whole("house", "host tf"), `part "host": method "tf" is none of its own; it has ssh`},
		{"a machine of two parts", whole("house", "host ssh", "twin ssh"), `parts "host" and "twin" both have a machine "hv"`},
		{"methods", with(func(g *groups.Group) { g.Methods = ways }), "it has parts, and can't have methods of its own"},
		{"machines", with(func(g *groups.Group) { g.Machines = []groups.Machine{machine("web")} }), "can't have machines of its own"},
		{"effects", with(func(g *groups.Group) { g.Effects = []string{"dns"} }), "can't have effects of its own"},
		{"images", with(func(g *groups.Group) { g.Images = []groups.Image{{}} }), "can't have images of its own"},
		{"zones", with(func(g *groups.Group) { g.Zones = []groups.Zone{{}} }), "can't have zones of its own"},
		{"an inventory", with(func(g *groups.Group) { g.Inventory = &groups.Inventory{} }), "can't have inventory of its own"},
		{"a source", with(func(g *groups.Group) { g.Source.Name = "x" }), "can't have source of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New([]groups.Group{
				c.group, group("host", ways, machine("hv")), group("guests", ways, machine("web")),
				group("twin", ways, machine("hv")), whole("street", "host ssh"),
			}, []methods.Method{newFake("ssh"), newFake("tf")}, noSystem)
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, r == nil)
		})
	}
}

func TestAMachineIsNotCalledLikeAPart(t *testing.T) {
	ways := []string{"ssh"}
	_, err := New([]groups.Group{
		whole("house", "host ssh", "guests ssh"), group("host", ways, machine("hv")), group("guests", ways, machine("host")),
	}, []methods.Method{newFake("ssh")}, noSystem)
	assert.ErrorContains(t, err, `group "house": part "guests" has a machine "host", which is the name of a part`)
}

func TestAllFaultsOfPartsAreNamedAtOnce(t *testing.T) {
	ways := []string{"ssh"}
	broken := whole("house", "host tf", "nobody ssh", "house ssh", "a ssh", "b ssh", "a ssh")
	broken.Methods, broken.Effects = ways, []string{"dns"}
	_, err := New([]groups.Group{broken, group("host", ways, machine("hv")), group("a", ways, machine("web")), group("b", ways, machine("web"))},
		[]methods.Method{newFake("ssh")}, noSystem)
	for _, want := range []string{
		"methods of its own", "effects of its own", `part "host": method "tf"`, `part "nobody"`, `part "house"`,
		`parts "a" and "b"`, `part "a": named twice`,
	} {
		assert.ErrorContains(t, err, want)
	}
}

// house is a world of three groups, and of one that is made of them.
type house struct {
	*world
	whole string
	incus *fake
}

// newHouse has a host, which the method of the guests and of the tenants needs.
func newHouse(t *testing.T) *house {
	t.Helper()
	n := worlds.Add(1)
	h := &house{world: &world{t: t, ssh: newFake("ssh")}, whole: fmt.Sprintf("house%d", n), incus: newFake("incus")}
	h.ssh.verbs = verbs("apply", "plan", "install")
	h.incus.verbs = verbs("apply", "plan", "destroy")
	h.group = fmt.Sprintf("g%d", n)
	h.registry = registryOf(t, []methods.Method{h.ssh, h.incus},
		whole(h.whole, h.group+"-host ssh", h.group+"-guests incus", h.group+"-tenants incus"),
		group(h.group+"-host", []string{"ssh"}, machine("hv")),
		group(h.group+"-guests", []string{"ssh", "incus"}, machine("gateway"), machine("state")),
		group(h.group+"-tenants", []string{"incus"}, machine("web"), machine("forge", "db"), internal("db")))
	assert.NilError(t, h.registry.Check())
	return h
}

// order writes the members of a program of the house, each with what it waits for.
func (h *house) order(rest string) string {
	p, ok := h.registry.Find(h.whole + "-" + rest)
	assert.Assert(h.t, ok, rest)
	needs := h.registry.Needs(p)
	short := strings.NewReplacer(h.group+"-", "", "-ssh", "", "-incus", "", "-"+p.Verb, "")
	var all []string
	for _, m := range h.registry.Members(p) {
		line := m.Name
		if before := slices.Sorted(slices.Values(needs[m.Name])); len(before) > 0 {
			line += " after " + strings.Join(before, " ")
		}
		all = append(all, short.Replace(line))
	}
	return strings.Join(all, "\n")
}

func TestPartsComeOneAfterTheOther(t *testing.T) {
	h := newHouse(t)
	assert.Equal(t, h.order("combined"), `host-hv
guests-gateway after host-hv
guests-state after host-hv
tenants-web after tenants-db
tenants-forge after tenants-db
tenants-db after guests-gateway guests-state`)
}

func TestADestructionTakesPartsBackwards(t *testing.T) {
	h := newHouse(t)
	assert.Equal(t, h.order("combined-destroy"), `guests-gateway after tenants-db
guests-state after tenants-db
tenants-web
tenants-forge
tenants-db after tenants-forge tenants-web`)
}

func TestAPartWithoutTheVerbHoldsUpNobody(t *testing.T) {
	assert.Equal(t, newHouse(t).order("combined-install"), "host-hv")
}

func TestProgramsOfAGroupWithParts(t *testing.T) {
	h := newHouse(t)
	var names []string
	for _, p := range h.registry.Programs() {
		if p.Group == h.whole {
			names = append(names, p.Name+" "+p.Target)
			found, ok := h.registry.Find(p.Target)
			assert.Assert(t, ok && found == p, "%s", p.Target)
			found, ok = h.registry.Find(p.Name)
			assert.Assert(t, ok && found == p, "%s", p.Name)
		}
	}
	short := strings.ReplaceAll(strings.Join(names, ", "), h.whole, "house")
	assert.Equal(t, short, "house-combined-apply house:combinedApply, house-combined-destroy house:combinedDestroy, "+
		"house-combined-install house:combinedInstall, house-combined-plan house:combinedPlan")
	for _, nobody := range []string{"all", "all-apply", "ssh-combined", "incus-all", "hv", "combined-verify"} {
		_, ok := h.registry.Find(h.whole + "-" + nobody)
		assert.Assert(t, !ok, nobody)
	}
	p, _ := h.registry.Find(h.whole + "-combined")
	assert.Equal(t, p.Short, h.whole+"-combined")
	assert.Assert(t, cmp.Len(h.registry.Siblings(p), 4))
	assert.Assert(t, cmp.Contains(p.Description, h.group+"-host by ssh, "+h.group+"-guests by incus, "+h.group+"-tenants by incus"))
	gone, _ := h.registry.Find(h.whole + "-combined-destroy")
	assert.Assert(t, strings.HasSuffix(gone.Description, ": "+h.group+"-tenants by incus, "+h.group+"-guests by incus"), gone.Description)
}

func TestAWholeHouseIsTakenUpInOrder(t *testing.T) {
	h := newHouse(t)
	assert.NilError(t, h.runNames(t.Context(), nil, h.whole+"-combined").err)
	assert.DeepEqual(t, h.ssh.starts(), []string{"hv"})
	events := h.incus.seen()
	assert.Assert(t, cmp.Len(h.incus.starts(), 5))
	for _, first := range []string{"gateway", "state"} {
		for _, then := range []string{"web", "forge", "db"} {
			before(t, events, "end "+first+" apply", "start "+then+" apply")
		}
	}
	before(t, events, "end db apply", "start forge apply")
}

func TestAHouseIsDestroyedFromTheTop(t *testing.T) {
	h := newHouse(t)
	assert.NilError(t, h.runNames(t.Context(), nil, h.whole+"-combined-destroy").err)
	assert.Assert(t, cmp.Len(h.ssh.starts(), 0), "a host that is only managed is not destroyed")
	events := h.incus.seen()
	for _, pair := range [][2]string{{"web", "db"}, {"forge", "db"}, {"db", "gateway"}, {"db", "state"}} {
		before(t, events, "end "+pair[0]+" destroy", "start "+pair[1]+" destroy")
	}
}

func TestNothingIsBuiltOnAPartThatFailed(t *testing.T) {
	for _, c := range []struct {
		name, fails string
		code        report.Code
		started     int
		text        string
		guilty      string
	}{
		{"the host", "hv", report.Unknown, 0, "6 of 6 did not end healthy: 5 not started, 1 unknown", "-host-ssh-hv-apply ended unknown"},
		{"a guest", "state", report.Unhealthy, 2, "4 of 6 did not end healthy: 3 not started, 1 unhealthy", "-guests-incus-state-apply ended unhealthy"},
		{"a tenant", "db", report.Failed, 3, "3 of 6 did not end healthy: 1 failed, 2 not started", "-tenants-incus-db-apply ended failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.ssh.do = failing(map[string]report.Code{c.fails: c.code})
			h.incus.do = h.ssh.do
			path := filepath.Join(t.TempDir(), "record.json")
			got := h.runNames(t.Context(), map[string]string{"REPORT": path}, h.whole+"-combined")
			assert.Equal(t, report.CodeOf(got.err), c.code)
			assert.Error(t, got.err, c.text)
			assert.Assert(t, cmp.Len(h.incus.starts(), c.started))
			// The last of the chain names what is to blame, and not what lies between.
			assert.Equal(t, got.rows(h.group+"-tenants-incus-forge-apply"), "not started 0.0 s "+h.group+c.guilty)
			record := recordAt(t, path)
			assert.Equal(t, record.ExitCode, c.code)
			assert.Assert(t, cmp.Len(record.Members, 6))
			text, err := json.Marshal(record)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(string(text), "not started: "+h.group+c.guilty))
		})
	}
}

func TestResultsOfPartsSayOfWhichGroup(t *testing.T) {
	h := newHouse(t)
	h.incus.do = func(_ context.Context, _ *work, run *task.Run) error {
		_, err := io.WriteString(run.Out, "a result\n")
		return err
	}
	got := strings.Split(strings.TrimSpace(h.runNames(t.Context(), nil, h.whole+"-combined-plan").out), "\n")
	slices.Sort(got)
	assert.DeepEqual(t, got, []string{
		h.group + "-guests gateway: a result", h.group + "-guests state: a result",
		h.group + "-tenants db: a result", h.group + "-tenants forge: a result", h.group + "-tenants web: a result",
	})
}
