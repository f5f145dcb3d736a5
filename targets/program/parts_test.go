package program

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
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
tenants-web after guests-gateway guests-state host-hv tenants-db
tenants-forge after guests-gateway guests-state host-hv tenants-db
tenants-db after guests-gateway guests-state host-hv`)
}

func TestADestructionTakesPartsBackwards(t *testing.T) {
	h := newHouse(t)
	assert.Equal(t, h.order("combined-destroy"), `guests-gateway after tenants-db tenants-forge tenants-web
guests-state after tenants-db tenants-forge tenants-web
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

// partKeys are coordinates of each scope.
type partKeys struct {
	Host    env.Host   `env:"FAKE_HOST,required" scope:"machine" desc:"name or address of the machine"`
	Project string     `env:"FAKE_PROJECT,required" desc:"project of the machine"`
	Token   env.Secret `env:"FAKE_TOKEN" desc:"what opens the machine"`
}

// telling makes every member of the house tell what it was given.
func (h *house) telling() {
	keys := func() []any { return []any{&partKeys{}} }
	h.ssh.keys, h.incus.keys = keys, keys
	h.ssh.do = func(_ context.Context, task *work, run *task.Run) error {
		got, _ := task.keys[0].(*partKeys)
		_, err := fmt.Fprintf(run.Out, "%s %s %s\n", got.Host, got.Project, got.Token.Reveal())
		return err
	}
	h.incus.do = h.ssh.do
}

// form is a group's form of a key.
func (h *house) form(part, key string) string {
	return env.Key{Name: key}.Scoped(h.group + "-" + part)
}

// hosts are the required variables that each machine has for itself, but for those of
// the host.
func hosts(more map[string]string) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"GATEWAY", "STATE", "WEB", "FORGE", "DB"} {
		all[name+"_FAKE_HOST"] = strings.ToLower(name)
	}
	maps.Copy(all, more)
	return all
}

func TestKeysOfParts(t *testing.T) {
	h := newHouse(t)
	h.telling()
	got := h.runNames(t.Context(), hosts(map[string]string{
		h.form("host", "FAKE_HOST"): "the-host", h.form("host", "FAKE_PROJECT"): "bare",
		"FAKE_PROJECT": "plain", h.form("tenants", "FAKE_PROJECT"): "theirs", "FORGE_FAKE_PROJECT": "its-own",
		h.form("tenants", "FAKE_TOKEN"): "hush-hush", "FAKE_TOKEN": "plain-hush",
	}), h.whole+"-combined-plan")
	assert.NilError(t, got.err)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(got.out, h.group+"-", "")), "\n")
	slices.Sort(lines)
	assert.DeepEqual(t, lines, []string{
		"guests gateway: gateway plain [redacted]", "guests state: state plain [redacted]", "host hv: the-host bare [redacted]",
		"tenants db: db theirs [redacted]", "tenants forge: forge its-own [redacted]", "tenants web: web theirs [redacted]",
	})
}

func TestTheFormsOfAGroupCountInEveryRun(t *testing.T) {
	h := newHouse(t)
	h.telling()
	got := h.runNames(t.Context(), map[string]string{h.form("host", "FAKE_HOST"): "the-host", h.form("host", "FAKE_PROJECT"): "p"}, h.group+"-host-ssh-hv-plan")
	assert.NilError(t, got.err)
	assert.Equal(t, strings.TrimSpace(got.out), "the-host p")
}

func TestWhatIsMissingOfPartsNamesTheGroups(t *testing.T) {
	h := newHouse(t)
	h.telling()
	got := h.runNames(t.Context(), hosts(map[string]string{h.form("guests", "FAKE_PROJECT"): "p", "FAKE_HOST": "x"}), h.whole+"-combined")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.ErrorContains(t, got.err, "2 environment keys are missing")
	for _, want := range []string{
		"HV_FAKE_HOST: missing; FAKE_HOST counts only in a run of one machine\n      or, for one group: " + h.form("host", "FAKE_HOST"),
		"FAKE_PROJECT: missing\n      or, for one group: " + h.form("host", "FAKE_PROJECT") + ", " + h.form("tenants", "FAKE_PROJECT"),
	} {
		assert.ErrorContains(t, got.err, want)
	}
	assert.Assert(t, cmp.Len(h.ssh.starts(), 0))
	alone := h.runNames(t.Context(), nil, h.group+"-host-ssh-hv")
	assert.Assert(t, !strings.Contains(alone.err.Error(), h.form("host", "")), "%v", alone.err)
}

func TestATypoInAGroupsFormIsTold(t *testing.T) {
	h := newHouse(t)
	h.telling()
	got := h.runNames(t.Context(), hosts(map[string]string{
		"HV_FAKE_HOST": "x", "FAKE_PROJECT": "p", h.form("guests", "FAKE_PROJEKT"): "q",
	}), h.whole+"-combined-plan")
	assert.NilError(t, got.err)
	assert.Assert(t, cmp.Contains(got.log, h.form("guests", "FAKE_PROJEKT")+" is set but not declared; did you mean "+h.form("guests", "FAKE_PROJECT")+"?"))
}

func TestShowTellsOfThePartsForms(t *testing.T) {
	h := newHouse(t)
	h.telling()
	p, _ := h.registry.Find(h.whole + "-combined")
	list, err := h.registry.Show(t.Context(), env.Map(hosts(map[string]string{h.form("tenants", "FAKE_PROJECT"): "theirs"})), p)
	assert.NilError(t, err)
	var problems []string
	shown := map[string]string{}
	for _, one := range list {
		shown[one.Variable] = one.Value
		if one.Problem != nil {
			problems = append(problems, one.Variable+" or "+one.Problem.Or)
		}
	}
	assert.Equal(t, shown[h.form("tenants", "FAKE_PROJECT")], `"theirs"`)
	assert.DeepEqual(t, problems, []string{"FAKE_PROJECT or " + h.form("host", "FAKE_PROJECT"), "HV_FAKE_HOST or " + h.form("host", "FAKE_HOST")})
}

func TestVariablesOfPartsThatMeanTwoThings(t *testing.T) {
	ssh := newFake("ssh")
	ssh.keys = func() []any {
		return []any{&struct {
			A env.Host `env:"KEY" desc:"d"`
			B env.Host `env:"GUESTS_KEY" desc:"d"`
		}{}}
	}
	r := registryOf(t, []methods.Method{ssh}, whole("house", "host ssh", "guests ssh"),
		group("host", []string{"ssh"}, machine("hv")), group("guests", []string{"ssh"}, machine("web")))
	err := r.Check()
	assert.ErrorContains(t, err, `variables of group "house"`)
	assert.ErrorContains(t, err, `GUESTS_KEY: means ["GUESTS_KEY" "KEY of group guests"]`)
}
