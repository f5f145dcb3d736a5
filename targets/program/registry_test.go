package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/task"
)

func TestFaultsOfDeclarations(t *testing.T) {
	ssh, tf := newFake("ssh"), newFake("tf-incus")
	tf.verbs = verbs("apply", "state-list")
	both := []methods.Method{ssh, tf}
	ways := []string{"ssh", "tf-incus"}
	with := func(change func(m *groups.Machine)) []groups.Group {
		m := machine("web")
		change(&m)
		return []groups.Group{group("operator", ways, m)}
	}
	for _, c := range []struct {
		name    string
		groups  []groups.Group
		methods []methods.Method
		want    string
	}{
		{"a group's name", []groups.Group{group("Operator", ways)}, both, `group "Operator": not a name`},
		{"a group called like a namespace of ours", []groups.Group{group("contract", ways)}, both, `group "contract": a reserved word, as are checks, contract,`},
		{"a group's description", []groups.Group{{Name: "operator", Methods: ways}}, both, `group "operator": no description`},
		{"a group without a method", []groups.Group{group("operator", nil)}, both, `group "operator": no method`},
		{"an unknown method", []groups.Group{group("operator", []string{"ssh", "tfi"})}, both, `group "operator": unknown method "tfi"; known are ssh, tf-incus`},
		{"a group twice", []groups.Group{group("a", ways), group("b", ways), group("a", ways)}, both, `group "a": declared twice`},
		{"a method's name", nil, []methods.Method{newFake("SSH")}, `method "SSH": not a name`},
		{"a method's description", nil, []methods.Method{&fake{name: "ssh"}}, `method "ssh": no description`},
		{"a method twice", nil, []methods.Method{ssh, newFake("ssh")}, `method "ssh": declared twice`},
		{"a machine's name", with(func(m *groups.Machine) { m.Name = "web_1" }), both, `group "operator": machine "web_1"`},
		{"a machine's description", with(func(m *groups.Machine) { m.Description = "" }), both, `group "operator": machine "web": no description`},
		{"a machine's placement", with(func(m *groups.Machine) { m.Placement = nil }), both, `group "operator": machine "web": no placement`},
		{"a machine's modules", with(func(m *groups.Machine) { m.Modules = nil }), both, `group "operator": machine "web": no NixOS module`},
		{"a machine's probe", with(func(m *groups.Machine) { m.Probes = []groups.Probe{{Name: "site"}} }), both, `machine "web": probe "site": nothing to ask`},
		{"a machine's probe twice", with(func(m *groups.Machine) {
			site := groups.Probe{Name: "site", Ask: groups.TCP{Address: "127.0.0.1:80"}}
			m.Probes = []groups.Probe{site, site}
		}), both, `machine "web": probe "site": declared twice`},
		{"a machine called all", with(func(m *groups.Machine) { m.Name = "all" }), both, `machine "all": a reserved word`},
		{"a machine called combined", with(func(m *groups.Machine) { m.Name = "combined" }), both, `machine "combined": a reserved word`},
		{"a machine called like a method", with(func(m *groups.Machine) { m.Name = "tf-incus" }), both, `machine "tf-incus": the name of a method`},
		{"a machine called like a verb", with(func(m *groups.Machine) { m.Name = "state-list" }), both, `machine "state-list": the name of a verb of method "tf-incus"`},
		{"a machine called like its group", []groups.Group{group("operator", ways, machine("operator"))}, both, `machine "operator": the name of its group`},
		{"a machine twice", []groups.Group{group("operator", ways, machine("web"), machine("web"))}, both, `group "operator": machine "web": declared twice`},
		{"a need that is nobody", []groups.Group{group("operator", ways, machine("web", "bd"))}, both, `machine "web" needs "bd", which is not a machine of the group`},
		{"a machine that needs itself", []groups.Group{group("operator", ways, machine("web", "web"))}, both, `in a circle: web needs web`},
		{
			"a circle of needs",
			[]groups.Group{group("operator", ways, machine("start", "a"), machine("a", "b"), machine("b", "c"), machine("c", "a"))},
			both,
			`in a circle: a needs b needs c needs a`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New(c.groups, c.methods, noSystem)
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, r == nil)
		})
	}
}

func TestAllFaultsAreNamedAtOnce(t *testing.T) {
	ssh := newFake("ssh")
	broken := group("Wrong", []string{"none"},
		machine("web"), machine("web"), machine("apply"), machine("all"), machine("ssh"),
		machine("a", "b"), machine("b", "a"), groups.Machine{Name: "Bare"})
	broken.Description = ""
	_, err := New([]groups.Group{broken, group("good", []string{"ssh"}, machine("web")), {Name: "empty"}},
		[]methods.Method{ssh, &fake{name: "Mute", verbs: verbs()}}, noSystem)
	want := []string{
		`method "Mute": not a name`, `method "Mute": no description`,
		`group "Wrong": not a name`, `group "Wrong": no description`, `unknown method "none"`,
		`machine "web": declared twice`, `machine "apply": the name of a verb`, `machine "all": a reserved word`,
		`machine "ssh": the name of a method`, `in a circle: a needs b needs a`,
		`"Bare": not a name`, `machine "Bare": no description`, `machine "Bare": no placement`, `machine "Bare": no NixOS module`,
		`group "empty": no description`, `group "empty": no method`,
	}
	for _, text := range want {
		assert.ErrorContains(t, err, text)
	}
	assert.Assert(t, !strings.Contains(err.Error(), `"good"`), "a group without a fault is not blamed: %v", err)
}

func TestAGoodDeclarationHasNoFault(t *testing.T) {
	w := newWorld(t, machine("web", "db"), internal("db"), machine("db-1"))
	assert.NilError(t, w.registry.Check())
}

func TestNeedsThatMeetAreNoCircle(t *testing.T) {
	newWorld(t, machine("top", "left", "right"), machine("left", "base"), machine("right", "base"), machine("base"))
}

func TestRegistryKeepsItsOwnCopy(t *testing.T) {
	declared := []groups.Group{group("b", []string{"ssh"}, machine("web")), group("a", []string{"ssh"}, machine("web"))}
	r := registryOf(t, []methods.Method{newFake("tf"), newFake("ssh")}, declared...)
	declared[0].Name = "changed"
	r.Groups()[0].Name = "changed too"
	assert.Equal(t, r.Groups()[0].Name, "a")
	assert.Equal(t, r.Groups()[1].Name, "b")
	assert.Equal(t, r.Methods()[0].Name(), "ssh")
	assert.Equal(t, r.Methods()[1].Name(), "tf")
}

func TestPrograms(t *testing.T) {
	r := registryOf(t, []methods.Method{newFake("ssh"), newFake("tf")},
		group("operator", []string{"ssh", "tf"}, machine("web"), internal("db")))
	var names []string
	for _, p := range r.Programs() {
		names = append(names, p.Name)
	}
	assert.Assert(t, slices.IsSorted(names))
	var want []string
	for _, verb := range []string{"apply", "destroy", "plan"} {
		for _, method := range []string{"ssh-", "tf-"} {
			want = append(want, "operator-"+method+"web-"+verb, "operator-"+method+"db-"+verb)
		}
		for _, method := range []string{"", "ssh-", "tf-"} {
			want = append(want, "operator-"+method+"all-"+verb, "operator-"+method+"combined-"+verb)
		}
	}
	want = append(want, "operator-web", "operator-db")
	slices.Sort(want)
	assert.DeepEqual(t, names, want)
}

func TestProgramsParts(t *testing.T) {
	r := registryOf(t, []methods.Method{newFake("ssh")}, group("operator", []string{"ssh"}, machine("web"), internal("db")))
	for _, want := range []Program{
		{
			Name: "operator-ssh-web-apply", Short: "operator-ssh-web", Target: "operator:sshWebApply",
			Description: "applys operator's web by ssh: a machine", Group: "operator", Method: "ssh", Machine: "web", Verb: "apply", Kind: Deployment,
		},
		{
			Name: "operator-ssh-db-plan", Target: "operator:sshDbPlan", Internal: true,
			Description: "plans operator's db by ssh: a machine", Group: "operator", Method: "ssh", Machine: "db", Verb: "plan", Kind: Deployment,
		},
		{
			Name: "operator-db", Target: "operator:db", Internal: true,
			Description: "builds the NixOS system of operator's db and prints its store path", Group: "operator", Machine: "db", Kind: System,
		},
		{
			Name: "operator-all-apply", Short: "operator-all", Target: "operator:allApply",
			Description: "applys every published machine of operator by ssh", Group: "operator", Verb: "apply", Kind: All,
		},
		{
			Name: "operator-ssh-combined-destroy", Target: "operator:sshCombinedDestroy",
			Description: "destroys all of operator in order of dependency by ssh", Group: "operator", Method: "ssh", Verb: "destroy", Kind: Combined,
		},
	} {
		t.Run(want.Name, func(t *testing.T) {
			i := slices.IndexFunc(r.Programs(), func(p Program) bool { return p.Name == want.Name })
			assert.Assert(t, i >= 0)
			assert.DeepEqual(t, r.Programs()[i], want)
		})
	}
}

func TestAggregatesHaveTheVerbsOfTheirMembers(t *testing.T) {
	way := newFake("ssh")
	way.verbs = func(p groups.Placement) []task.Verb {
		if _, local := p.(groups.Local); local {
			return verbs("apply", "destroy")(p)
		}
		return verbs("apply")(p)
	}
	local := internal("local")
	local.Placement = groups.Local{}
	r := registryOf(t, []methods.Method{way}, group("dev", []string{"ssh"}, machine("web"), local))
	_, ok := r.Find("dev-all-destroy")
	assert.Assert(t, !ok, "no published machine can be destroyed")
	_, ok = r.Find("dev-combined-destroy")
	assert.Assert(t, ok)
}

func TestAGroupOfInternalMachinesHasNoAll(t *testing.T) {
	w := newWorld(t, internal("db"))
	_, ok := w.registry.Find(w.name("all"))
	assert.Assert(t, !ok)
	_, ok = w.registry.Find(w.name("combined"))
	assert.Assert(t, ok)
}

func TestAVerbDescribedByPlacementIsOneAggregate(t *testing.T) {
	way := newFake("ssh")
	way.verbs = func(p groups.Placement) []task.Verb {
		if _, local := p.(groups.Local); local {
			return []task.Verb{{Name: "apply", Description: "boots and deploys"}}
		}
		return []task.Verb{{Name: "apply", Description: "deploys"}}
	}
	local := machine("local")
	local.Placement = groups.Local{}
	r := registryOf(t, []methods.Method{way}, group("dev", []string{"ssh"}, machine("web"), local))
	count := 0
	for _, p := range r.Programs() {
		if p.Name == "dev-ssh-all-apply" {
			count++
		}
	}
	assert.Equal(t, count, 1, "programs of one name are one Mage target twice")
}

func TestCheckNamesBothOfACollision(t *testing.T) {
	stateful := newFake("tf")
	stateful.verbs = verbs("apply", "list", "state-list")
	long := newFake("b-ssh")
	for _, c := range []struct {
		name    string
		methods []methods.Method
		groups  []groups.Group
		want    []string
	}{
		{
			"a verb that begins like a machine's name ends",
			[]methods.Method{stateful},
			[]groups.Group{group("operator", []string{"tf"}, machine("web"), machine("web-state"))},
			[]string{
				`have the same name "operator-tf-web-state-list"`,
				"operator-tf-web-state-list (group operator, method tf, machine web, verb state-list)",
				"operator-tf-web-state-list (group operator, method tf, machine web-state, verb list)",
			},
		},
		{
			"machines that differ in a hyphen alone",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("operator", []string{"ssh"}, machine("db1"), machine("db-1"))},
			[]string{
				`have the same Mage target "operator:sshdb1apply"`,
				"operator-ssh-db1-apply (group operator, method ssh, machine db1, verb apply)",
				"operator-ssh-db-1-apply (group operator, method ssh, machine db-1, verb apply)",
			},
		},
		{
			"targets that differ in case alone",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("operator", []string{"ssh"}, machine("db"), machine("d-b"))},
			[]string{`have the same Mage target "operator:sshdbapply"`, "machine db,", "machine d-b,"},
		},
		{
			"a group that begins with another, and the machine",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("a", []string{"ssh"}, machine("b-web")), group("a-b", []string{"ssh"}, machine("web"))},
			[]string{`have the same name "a-b-web"`, "a-b-web (group a, machine b-web)", "a-b-web (group a-b, machine web)"},
		},
		{
			"a group that begins with another, and the method",
			[]methods.Method{newFake("ssh"), long},
			[]groups.Group{group("a", []string{"b-ssh"}, machine("web")), group("a-b", []string{"ssh"}, machine("web"))},
			[]string{
				`have the same name "a-b-ssh-web-apply"`, `have the same name "a-b-ssh-all-plan"`,
				"(group a, method b-ssh, machine web, verb apply)", "(group a-b, method ssh, machine web, verb apply)",
			},
		},
		{
			"a machine called like an aggregate with its verb",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("a", []string{"ssh"}, machine("all-plan"))},
			[]string{`have the same name "a-all-plan"`, "a-all-plan (group a, machine all-plan)", "a-all-plan (group a, all, verb plan)"},
		},
		{
			"a machine called like a method with another machine",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("a", []string{"ssh"}, machine("web"), machine("ssh-web"))},
			[]string{`have the same name "a-ssh-web"`, "(group a, method ssh, machine web, verb apply)", "(group a, machine ssh-web)"},
		},
		{
			"groups of one namespace",
			[]methods.Method{newFake("ssh")},
			[]groups.Group{group("a-b", []string{"ssh"}, machine("web")), group("ab", []string{"ssh"}, machine("db"))},
			[]string{`groups "a-b" and "ab" have the same Mage namespace`},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := registryOf(t, c.methods, c.groups...).Check()
			for _, want := range c.want {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestAGroupOf300Machines(t *testing.T) {
	var machines []groups.Machine
	for i := range 300 {
		m := machine(fmt.Sprintf("m-%d", i))
		if i > 0 {
			m.Needs = []string{fmt.Sprintf("m-%d", i-1)}
		}
		machines = append(machines, m)
	}
	r := registryOf(t, []methods.Method{newFake("ssh")}, group("big", []string{"ssh"}, machines...))
	assert.NilError(t, r.Check())
	assert.Assert(t, cmp.Len(r.Programs(), 300*4+2*2*3))
	p, ok := r.Find("big-ssh-m-299-plan")
	assert.Assert(t, ok)
	assert.Equal(t, p.Machine, "m-299")
}
