package program

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/report"
)

// hyphens is a registry in which every kind of name has hyphens, and some begin
// like others.
func hyphens(t testing.TB) *Registry {
	incus := newFake("tf-incus")
	incus.verbs = verbs("apply", "state-list", "force-unlock")
	return registryOf(t, []methods.Method{newFake("tf"), incus},
		group("hosting", []string{"tf"}, machine("gateway"), machine("all-in-one")),
		group("hosting-provider", []string{"tf-incus", "tf"}, machine("gateway"), machine("gateway-2"), internal("incus-db")))
}

func TestEveryProgramIsFoundByEveryNameItHas(t *testing.T) {
	r := hyphens(t)
	assert.NilError(t, r.Check())
	for _, p := range r.Programs() {
		spellings := []string{
			p.Name, strings.ToUpper(p.Name), p.Target, strings.ToLower(p.Target), strings.ToUpper(p.Target),
		}
		if p.Short != "" {
			target := Target(p.Group, p.Short)
			spellings = append(spellings, p.Short, target, strings.ToLower(target))
		}
		for _, spelling := range spellings {
			found, ok := r.Find(spelling)
			assert.Assert(t, ok, "%s as %s", p.Name, spelling)
			assert.DeepEqual(t, found, p)
		}
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		ask  string
		want string // canonical; empty means unknown
	}{
		{"canonical", "hosting-provider-tf-incus-gateway-state-list", "hosting-provider-tf-incus-gateway-state-list"},
		{"without its verb", "hosting-provider-tf-incus-gateway", "hosting-provider-tf-incus-gateway-apply"},
		{"a method that begins like another", "hosting-provider-tf-incus-db", "hosting-provider-tf-incus-db-apply"},
		{"a machine that begins like another", "hosting-provider-tf-gateway-2-plan", "hosting-provider-tf-gateway-2-plan"},
		{"a group that begins like another", "hosting-tf-gateway", "hosting-tf-gateway-apply"},
		{"a machine that begins like an aggregate", "hosting-tf-all-in-one-plan", "hosting-tf-all-in-one-plan"},
		{"a system", "hosting-provider-gateway-2", "hosting-provider-gateway-2"},
		{"a system that begins like an aggregate", "hosting-all-in-one", "hosting-all-in-one"},
		{"an aggregate of the first method", "hosting-provider-all-force-unlock", "hosting-provider-all-force-unlock"},
		{"an aggregate of a method", "hosting-provider-tf-combined", "hosting-provider-tf-combined-apply"},
		{"an internal machine", "hosting-provider-tf-incus-incus-db", "hosting-provider-tf-incus-incus-db-apply"},
		{"a Mage target", "hostingProvider:tfIncusGateway2StateList", "hosting-provider-tf-incus-gateway-2-state-list"},
		{"a Mage target without its verb", "hostingprovider:tfincusgateway2", "hosting-provider-tf-incus-gateway-2-apply"},
		{"nothing", "", ""},
		{"a colon", ":", ""},
		{"a group", "hosting-provider", ""},
		{"a group and a hyphen", "hosting-provider-", ""},
		{"a method", "hosting-tf", ""},
		{"a method and a hyphen", "hosting-tf-", ""},
		{"an unknown verb", "hosting-tf-gateway-state-list", ""},
		{"a verb that this method has not", "hosting-provider-tf-gateway-force-unlock", ""},
		{"a verb that the first method has not", "hosting-provider-all-destroy", ""},
		{"a method that the group has not", "hosting-tf-incus-gateway", ""},
		{"a system with a verb", "hosting-gateway-apply", ""},
		{"a hyphen at the end", "hosting-tf-gateway-", ""},
		{"a space", " hosting-tf-gateway", ""},
		{"a target of another group", "hosting:tfIncusGateway", ""},
		{"a target with the canonical name", "hosting:tf-gateway", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, ok := hyphens(t).Find(c.ask)
			assert.Equal(t, ok, c.want != "")
			assert.Equal(t, p.Name, c.want)
		})
	}
}

func TestClose(t *testing.T) {
	for _, c := range []struct {
		name  string
		ask   string
		first string // the nearest; empty means that none is close
	}{
		{"a letter too few", "hosting-tf-gatewy-plan", "hosting-tf-gateway-plan"},
		{"a letter too many", "hosting-tf-gateeway", "hosting-tf-gateway"},
		{"two letters swapped", "hosting-tf-gatewya-destroy", "hosting-tf-gateway-destroy"},
		{"in capitals", "HOSTING-TF-GATEWEY", "hosting-tf-gateway"},
		{"a Mage target is answered with targets", "hosting:tfGatwayPlan", "hosting:tfGatewayPlan"},
		{"a Mage target in lower case", "hosting:tfgatwayplan", "hosting:tfGatewayPlan"},
		{"nothing like it", "utterly-different-from-everything-else-here", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			near := hyphens(t).Close(c.ask)
			assert.Assert(t, len(near) <= 5)
			if c.first == "" {
				assert.Assert(t, cmp.Len(near, 0))
				return
			}
			assert.Assert(t, len(near) > 0)
			assert.Equal(t, near[0], c.first)
		})
	}
}

func TestCloseNamesAreFiveAndNearestFirst(t *testing.T) {
	var machines []groups.Machine
	for i := range 30 {
		machines = append(machines, machine(fmt.Sprintf("web-%d", i)))
	}
	r := registryOf(t, []methods.Method{newFake("ssh")}, group("operator", []string{"ssh"}, machines...))
	const wrong = "operator-ssh-wbe-7"
	near := r.Close(wrong)
	assert.Assert(t, cmp.Len(near, 5))
	assert.Equal(t, near[0], "operator-ssh-web-7")
	last := 0
	for _, name := range near {
		d := distance(wrong, name, len(wrong))
		assert.Assert(t, d >= last, "%v", near)
		last = d
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"web", "web", 0},
		{"", "web", 3},
		{"web", "", 3},
		{"web", "wb", 1},
		{"web", "webb", 1},
		{"web", "wab", 1},
		{"web", "wbe", 1},
		{"ab", "ba", 1},
		{"kitten", "sitting", 3},
		{"abcd", "badc", 2},
	} {
		t.Run(c.a+" and "+c.b, func(t *testing.T) {
			assert.Equal(t, distance(c.a, c.b, 10), c.want)
			assert.Equal(t, distance(c.b, c.a, 10), c.want)
		})
	}
	assert.Assert(t, distance("a", "abcdef", 3) > 3)
}

// wide is a registry of about as many programs as asked for, in groups of 100
// machines.
func wide(t testing.TB, programs int) *Registry {
	var declared []groups.Group
	const inOne = 100*4 + 2*2*3 // programs of a group of 100 machines
	for i := range max(1, programs/inOne) {
		var machines []groups.Machine
		for j := range min(100, programs/4) {
			machines = append(machines, machine(fmt.Sprintf("m-%d", j)))
		}
		declared = append(declared, group(fmt.Sprintf("g-%d", i), []string{"ssh"}, machines...))
	}
	return registryOf(t, []methods.Method{newFake("ssh")}, declared...)
}

func TestFindDoesNotListThePrograms(t *testing.T) {
	cost := func(programs int) float64 {
		r := wide(t, programs)
		return testing.AllocsPerRun(100, func() {
			if _, ok := r.Find("g-0-ssh-m-10-plan"); !ok {
				t.Fatal("not found")
			}
		})
	}
	small, large := cost(100), cost(10_000)
	// A few are the runtime's own.
	assert.Assert(t, large < small+10, "%v allocations among 100 programs, %v among 10 000", small, large)
}

func BenchmarkFind(b *testing.B) {
	for _, programs := range []int{100, 1000, 10_000} {
		r := wide(b, programs)
		last := r.Groups()[len(r.Groups())-1]
		name := fmt.Sprintf("%s-ssh-%s-plan", last.Name, last.Machines[len(last.Machines)-1].Name)
		b.Run(fmt.Sprint(programs), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := r.Find(name); !ok {
					b.Fatal("not found")
				}
			}
		})
	}
}

// TestUnknownNamesAreAnsweredWithWhatWasMeant takes what people type who come from
// other tools.
func TestUnknownNamesAreAnsweredWithWhatWasMeant(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []Call
		says  []string
	}{
		{
			"a verb of another tool",
			[]Call{{Name: "hosting-provider-tf-incus-gateway-switch"}},
			[]string{`"hosting-provider-tf-incus-gateway-switch"; the verbs of hosting-provider-tf-incus-gateway are apply, force-unlock, state-list`},
		},
		{"a slip in a verb", []Call{{Name: "hosting-tf-gateway-dstroy"}}, []string{"close are hosting-tf-gateway-destroy"}},
		{"no group and no method", []Call{{Name: "incus-db-apply"}}, []string{"close are hosting-provider-tf-incus-db-apply"}},
		{
			"a verb and a machine",
			[]Call{{Name: "force-unlock"}, {Name: "gateway"}},
			[]string{"a program's name is one word, such as hosting-provider-tf-incus-gateway-force-unlock"},
		},
		{"an option", []Call{{Name: "hosting-tf-gateway"}, {Name: "--dry-run"}}, []string{`unknown option "--dry-run"; programs have none`, "plan is the verb"}},
		{"nothing like it", []Call{{Name: "utterly-different-from-everything-else-here"}}, []string{`unknown program "utterly`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := hyphens(t).Resolve(c.calls...)
			said := fmt.Sprintf("%v", err)
			if fault, ok := errors.AsType[*report.Fault](err); ok {
				said += " " + fault.Hint
			}
			for _, text := range c.says {
				assert.Check(t, cmp.Contains(said, text))
			}
		})
	}
}
