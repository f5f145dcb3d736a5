package program

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/effects"
	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// fakeEffect is an effect that notes its runs among those of a fake method.
type fakeEffect struct {
	name  string
	verbs []string
	among *fake
	keys  []any
}

var _ effects.Effect = fakeEffect{}

func (e fakeEffect) Name() string                   { return e.name }
func (e fakeEffect) Description() string            { return "has no effect" }
func (e fakeEffect) Verbs(groups.Group) []task.Verb { return verbs(e.verbs...)(nil) }
func (e fakeEffect) Check(groups.Group) error {
	if e.name == "bad" {
		return errors.New("a name is wrong")
	}
	return nil
}

func (e fakeEffect) Task(_ groups.Group, verb string) task.Task {
	return &work{method: e.among, machine: e.name, verb: verb, keys: e.keys}
}

// withEffects is a world whose group has effects.
func withEffects(t *testing.T, machines ...groups.Machine) *world {
	t.Helper()
	w := &world{t: t, group: fmt.Sprintf("g%d", worlds.Add(1)), ssh: newFake("ssh")}
	g := group(w.group, []string{"ssh"}, machines...)
	g.Effects = []string{"registrars", "dns"}
	r, err := New([]groups.Group{g}, []methods.Method{w.ssh}, noSystem,
		fakeEffect{"dns", []string{"apply", "plan", "dump"}, w.ssh, []any{&address.Keys{}}},
		fakeEffect{"registrars", []string{"apply", "destroy", "verify"}, w.ssh, nil},
		fakeEffect{"netbox", []string{"apply"}, w.ssh, nil})
	assert.NilError(t, err)
	assert.NilError(t, r.Check())
	w.registry = r
	return w
}

func TestEffectsArePrograms(t *testing.T) {
	w := withEffects(t, machine("web"))
	for _, c := range []struct{ name, canonical, verb string }{
		{"dns", "dns-apply", "apply"}, {"dns-apply", "dns-apply", "apply"}, {"dns-dump", "dns-dump", "dump"}, {"registrars-verify", "registrars-verify", "verify"},
	} {
		p, ok := w.registry.Find(w.name(c.name))
		assert.Assert(t, ok, c.name)
		assert.Equal(t, p.Name, w.name(c.canonical))
		assert.Equal(t, p.Verb, c.verb)
		assert.Equal(t, p.Kind, Standalone)
		assert.Assert(t, p.Method == "" && p.Machine == "" && p.Effect != "")
		same, ok := w.registry.Find(p.Target)
		assert.Assert(t, ok && same == p, p.Target)
	}
	for _, name := range []string{"netbox", "dns-destroy", "dns-web", "ssh-dns"} {
		_, ok := w.registry.Find(w.name(name))
		assert.Assert(t, !ok, name)
	}
	assert.NilError(t, w.run(t.Context(), nil, "dns-dump").err)
	assert.DeepEqual(t, w.ssh.seen(), []string{"start dns dump", "end dns dump"})
}

func TestEffectsFollowTheMachines(t *testing.T) {
	w := withEffects(t, machine("web"), internal("db"))
	assert.NilError(t, w.run(t.Context(), nil, "combined").err)
	events := w.ssh.seen()
	for _, pair := range [][2]string{{"db", "web"}, {"web", "dns"}, {"dns", "registrars"}} {
		before(t, events, "end "+pair[0]+" apply", "start "+pair[1]+" apply")
	}
	assert.NilError(t, w.run(t.Context(), nil, "combined-destroy").err)
	before(t, w.ssh.seen(), "end registrars destroy", "start web destroy")

	alone := withEffects(t, machine("web"))
	assert.NilError(t, alone.run(t.Context(), nil, "all").err)
	assert.DeepEqual(t, alone.ssh.starts(), []string{"web"})
}

// preparation is an effect that comes before the machines of some methods.
type preparation struct{ fakeEffect }

func (preparation) Prepares(method, verb string) string {
	if method == "tf" && verb == "apply" {
		return "publish"
	}
	return ""
}

func TestWhatPreparesComesBeforeTheMachines(t *testing.T) {
	w := &world{t: t, group: fmt.Sprintf("g%d", worlds.Add(1)), ssh: newFake("ssh")}
	tf := newFake("tf")
	g := group(w.group, []string{"ssh", "tf"}, machine("web"))
	g.Effects = []string{"dns", "image"}
	r, err := New([]groups.Group{g}, []methods.Method{w.ssh, tf}, noSystem,
		fakeEffect{"dns", []string{"apply"}, tf, nil}, preparation{fakeEffect{"image", []string{"publish"}, tf, nil}})
	assert.NilError(t, err)
	w.registry = r
	assert.NilError(t, w.run(t.Context(), nil, "tf-combined").err)
	before(t, tf.seen(), "end image publish", "start web apply")
	before(t, tf.seen(), "end web apply", "start dns apply")

	assert.NilError(t, w.run(t.Context(), nil, "ssh-combined").err)
	assert.DeepEqual(t, w.ssh.starts(), []string{"web"}) // which makes no machines and needs no image
}

func TestEffectsAreNotStartedAfterAFailure(t *testing.T) {
	w := withEffects(t, machine("web"))
	w.ssh.do = failing(map[string]report.Code{"web": report.Unhealthy})
	got := w.run(t.Context(), nil, "combined")
	assert.Equal(t, report.CodeOf(got.err), report.Unhealthy)
	assert.DeepEqual(t, w.ssh.starts(), []string{"web"})
	assert.Equal(t, got.rows(w.name("dns-apply")), "not started 0.0 s "+w.name("ssh-web-apply ended unhealthy"))
}

func TestEffectsLearnWhereMachinesAre(t *testing.T) {
	declared := machine("mail")
	declared.Addresses = []string{"192.0.2.25"}
	w := withEffects(t, machine("web"), machine("db"), declared, machine("local"), machine("named"))
	seen := map[string]string{}
	w.ssh.do = func(ctx context.Context, it *work, run *task.Run) error {
		found := map[string][]string{
			"web": {"192.0.2.7", "2001:db8::7"}, "db": {"192.0.2.8"}, "mail": {"192.0.2.9"}, "local": {"127.0.0.1"}, "named": {"web.example.org"},
		}
		run.Record.Addresses = found[it.machine]
		if it.machine != "dns" && it.machine != "registrars" {
			return nil
		}
		for name := range found {
			list, err := address.Of(ctx, run.Environment, groups.Machine{Name: name}, false)
			assert.Check(t, err)
			seen[it.machine+" "+name] = fmt.Sprint(list)
		}
		return nil
	}
	got := w.run(t.Context(), map[string]string{"DB_ADDRESSES": "192.0.2.88"}, "combined")
	assert.NilError(t, got.err)
	assert.DeepEqual(t, seen, map[string]string{
		"dns web": "[192.0.2.7 2001:db8::7]", "registrars web": "[]",
		"dns db": "[192.0.2.88]", "registrars db": "[192.0.2.88]", // the caller's word
		"dns mail": "[]", "registrars mail": "[]", // the group's, which is no variable
		"dns local": "[]", "registrars local": "[]", "dns named": "[]", "registrars named": "[]",
	})
	assert.Equal(t, strings.Count(got.log, "web has the address 192.0.2.7,2001:db8::7, as its deployment tells"), 1, got.log)
}

func TestFaultsOfEffects(t *testing.T) {
	ssh := newFake("ssh")
	g := group("g", []string{"ssh"}, machine("web"), machine("dns"))
	g.Effects = []string{"dns", "dns", "moon", "empty", "bad"}
	_, err := New([]groups.Group{g}, []methods.Method{ssh}, noSystem,
		fakeEffect{"dns", []string{"apply"}, ssh, nil}, fakeEffect{"dns", []string{"apply"}, ssh, nil}, fakeEffect{"all", []string{"apply"}, ssh, nil}, fakeEffect{"empty", nil, ssh, nil}, fakeEffect{"bad", []string{"apply"}, ssh, nil})
	for _, text := range []string{
		`effect "dns": declared twice`, `effect "all": a reserved word`, `group "g": effect "dns": declared twice`,
		`group "g": unknown effect "moon"; known are dns, dns, all, empty, bad`, `effect "empty": the group declares nothing for it`,
		`machine "dns": the name of an effect`, `group "g": effect "bad": a name is wrong`,
	} {
		assert.ErrorContains(t, err, text)
	}
}
