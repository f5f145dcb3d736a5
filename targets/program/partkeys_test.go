package program

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

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

// zoned is a house of two groups that have the same effect: "host", which has one
// machine, and "guests".
func zoned(t *testing.T) (*world, string) {
	t.Helper()
	n := worlds.Add(1)
	w := &world{t: t, group: fmt.Sprintf("g%d", n), ssh: newFake("ssh")}
	host, guests := group(w.name("host"), []string{"ssh"}, machine("hv")), group(w.name("guests"), []string{"ssh"}, machine("web"), machine("db"))
	host.Effects, guests.Effects = []string{"dns"}, []string{"dns"}
	house := fmt.Sprintf("house%d", n)
	r, err := New([]groups.Group{host, guests, whole(house, host.Name+" ssh", guests.Name+" ssh")}, []methods.Method{w.ssh}, noSystem,
		fakeEffect{"dns", []string{"apply", "plan"}, w.ssh, []any{&address.Keys{}}})
	assert.NilError(t, err)
	assert.NilError(t, r.Check())
	w.registry = r
	return w, house
}

func TestEffectsOfPartsLearnWhereTheirOwnMachinesAre(t *testing.T) {
	w, house := zoned(t)
	var mutex sync.Mutex
	seen := map[string]string{}
	w.ssh.do = func(ctx context.Context, it *work, run *task.Run) error {
		run.Record.Addresses = map[string][]string{"hv": {"192.0.2.1"}, "web": {"192.0.2.2"}, "db": {"192.0.2.3"}}[it.machine]
		if it.machine != "dns" {
			return nil
		}
		mutex.Lock()
		defer mutex.Unlock()
		for _, name := range []string{"hv", "web", "db"} {
			list, err := address.Of(ctx, run.Environment, groups.Machine{Name: name}, false)
			assert.Check(t, err)
			seen[strings.TrimPrefix(run.Program, w.group+"-")+" "+name] = fmt.Sprint(list)
		}
		return nil
	}
	assert.NilError(t, w.runNames(t.Context(), map[string]string{"DB_ADDRESSES": "192.0.2.88"}, house+"-combined").err)
	assert.DeepEqual(t, seen, map[string]string{
		"host-dns-apply hv": "[192.0.2.1]", "host-dns-apply web": "[]", "host-dns-apply db": "[192.0.2.88]",
		"guests-dns-apply hv": "[]", "guests-dns-apply web": "[192.0.2.2]", "guests-dns-apply db": "[192.0.2.88]",
	})
}

func TestEffectsReadTheGroupsFormOfItsOnlyMachine(t *testing.T) {
	w, house := zoned(t)
	w.ssh.do = func(ctx context.Context, _ *work, run *task.Run) error {
		if run.Program != w.name("host-dns-apply") {
			return nil
		}
		list, err := address.Of(ctx, run.Environment, groups.Machine{Name: "hv"}, true)
		assert.Check(t, err)
		_, err = fmt.Fprintln(run.Out, list)
		return err
	}
	variable := env.Key{Name: "ADDRESSES"}.Scoped(w.name("host"))
	for _, name := range []string{house + "-combined", w.name("host-dns")} {
		got := w.runNames(t.Context(), map[string]string{variable: "192.0.2.7"}, name)
		assert.NilError(t, got.err)
		assert.Assert(t, strings.HasSuffix(got.out, "[192.0.2.7]\n"), got.out)
	}
}

func TestShowTellsOfEveryMachineThatAnEffectReads(t *testing.T) {
	w, _ := zoned(t)
	p, _ := w.registry.Find(w.name("guests-dns"))
	list, err := w.registry.Show(t.Context(), env.Map(map[string]string{"WEB_ADDRESSES": "192.0.2.7", "ADDRESSES": "192.0.2.9"}), p)
	assert.NilError(t, err)
	shown := map[string]string{}
	for _, one := range list {
		if one.Key.Name == "ADDRESSES" {
			shown[one.Variable] = one.Value
		}
	}
	assert.DeepEqual(t, shown, map[string]string{"WEB_ADDRESSES": `"192.0.2.7"`, "DB_ADDRESSES": ""})
}
