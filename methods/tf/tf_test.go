package tf

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/methods/tofu/inherent"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func deployment(p groups.Placement) methods.Deployment {
	return methods.Deployment{Group: groups.Group{Name: "operator"}, Machine: groups.Machine{Name: "web", Placement: p}}
}

// names are the keys that a verb reads.
func names(t *testing.T, p groups.Placement, verb string) map[string]env.Key {
	t.Helper()
	keys, err := env.Declared(New(nil, nil).Task(deployment(p), verb).Coordinates()...)
	assert.NilError(t, err)
	all := map[string]env.Key{}
	for _, key := range keys {
		all[key.Name] = key
	}
	return all
}

func TestVerbsReadWhatTheyNeedAndNoMore(t *testing.T) {
	for _, c := range []struct {
		verb          string
		reads, spares []string
	}{
		{task.Apply, []string{"SSH_HOST", "NIXPKGS", "TF_HTTP_ADDRESS", "STATE_PHASE", "VERDICT_TIMEOUT", "SSH_REBOOT"}, []string{"ADDRESS"}},
		{tofu.PlanVerb, []string{"SSH_HOST", "NIXPKGS", "TF_HTTP_ADDRESS", "PLAN_EXIT"}, nil},
		{tofu.Refresh, []string{"SSH_HOST", "TF_HTTP_ADDRESS"}, []string{"NIXPKGS"}},
		{tofu.Destroy, []string{"TF_HTTP_ADDRESS"}, []string{"SSH_HOST", "NIXPKGS"}},
		{tofu.Validate, []string{"TOFU_PATH"}, []string{"TF_HTTP_ADDRESS", "SSH_HOST", "STATE_PHASE"}},
		{tofu.Import, []string{"ADDRESS", "ID", "SSH_HOST"}, []string{"NIXPKGS"}},
		{tofu.StateShow, []string{"ADDRESS"}, []string{"ID", "SSH_HOST"}},
		{tofu.ForceUnlock, []string{"LOCK_ID"}, []string{"SSH_HOST"}},
		{"verify", []string{"SSH_HOST", "VERDICT_TIMEOUT"}, []string{"TF_HTTP_ADDRESS"}},
		{"rollback", []string{"GENERATION", "SSH_HOST"}, []string{"TF_HTTP_ADDRESS"}},
	} {
		t.Run(c.verb, func(t *testing.T) {
			all := names(t, groups.External{}, c.verb)
			for _, name := range c.reads {
				assert.Check(t, all[name].Name == name, "%s is not read", name)
			}
			for _, name := range c.spares {
				assert.Check(t, all[name].Name == "", "%s is read", name)
			}
		})
	}
}

func TestFaultyCoordinatesAreFoundAtOnce(t *testing.T) {
	certificate := map[string]string{"TF_HTTP_CLIENT_CERTIFICATE_PEM": "a certificate without its key", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM": "rubbish"}
	of := []string{"TF_HTTP_CLIENT_PRIVATE_KEY_PEM", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"}
	for _, c := range []struct {
		verb  string
		given map[string]string
		names []string
	}{
		{tofu.Apply, certificate, of},
		{tofu.Output, certificate, of},
		{tofu.PlanVerb, map[string]string{"DATABASE_PASSWORD": `with\a-backslash`, "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM": "rubbish"}, []string{"DATABASE_PASSWORD", "TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"}},
		{tofu.Destroy, certificate, of},
		{tofu.Import, map[string]string{"ADDRESS": "-x", "ID": "-y"}, []string{"ADDRESS", "ID"}},
		{tofu.StateShow, map[string]string{"ADDRESS": "-x"}, []string{"ADDRESS"}},
		{tofu.ForceUnlock, map[string]string{"LOCK_ID": "-x"}, []string{"LOCK_ID"}},
	} {
		t.Run(c.verb, func(t *testing.T) {
			given := map[string]string{
				"SSH_HOST": "192.0.2.7", "SSH_HOST_KEY": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDswluWw3MQOwsEN3kLTBhvHPH+W7MvgXDQkphLw1orY", "SSH_AUTH_SOCK": "/nobody",
				"CACHE_DIR": t.TempDir(), "DNS_DOMAIN": "example.org", "NIXPKGS": t.TempDir(), "TF_HTTP_ADDRESS": "http://127.0.0.1:1/web",
				"TF_HTTP_LOCK_ADDRESS": "http://127.0.0.1:1/web/lock", "TF_HTTP_UNLOCK_ADDRESS": "http://127.0.0.1:1/web/lock",
				"DATABASE_HOST": "192.0.2.8", "DATABASE_ADMIN_PASSWORD": "of-the-admin", "DATABASE_PASSWORD": "of-the-owner",
			}
			maps.Copy(given, c.given)
			d := deployment(groups.External{})
			d.Machine.Database = &groups.Database{Name: "web"}
			v := New(nil, nil).Task(d, c.verb).(*verbTask)
			environment := env.Map(given)
			assert.NilError(t, environment.Load(t.Context(), env.For{Machine: "web", Alone: true}, v.Coordinates()...))
			err := v.Check(environment)
			assert.Equal(t, report.CodeOf(err), report.Usage, "%v", err)
			for _, name := range c.names {
				assert.ErrorContains(t, err, name)
			}
		})
	}
}

func TestAStateIsOneMachinesOwn(t *testing.T) {
	all := names(t, groups.External{}, task.Apply)
	for _, name := range []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS", "STATE_LINEAGE", "STATE_SERIAL"} {
		assert.Check(t, all[name].Scope == env.ScopeMachine, name)
	}
}

func TestAMachineOfThisHostNeedsNoVariable(t *testing.T) {
	m := New(nil, nil)
	for _, verb := range m.Verbs(groups.Local{}) {
		for _, key := range names(t, groups.Local{}, verb.Name) {
			named := false
			for _, argument := range verb.Arguments {
				named = named || argument.Key == key.Name
			}
			assert.Check(t, !key.Required || named, "%s: %s", verb.Name, key.Name)
		}
	}
}

func TestConfigurationIsTheSameInEveryRun(t *testing.T) {
	text, err := configuration("operator-web", "web", inherent.Of(groups.Machine{Name: "web"}), made.Parts{})
	assert.NilError(t, err)
	var read map[string]any
	assert.NilError(t, json.Unmarshal(text, &read))
	for _, part := range []string{`"slipway_machine":{"web":{`, `"toplevel":"${var.toplevel}"`, `"value":"${slipway_machine.web.verdict}"`} {
		assert.Check(t, cmp.Contains(string(text), part))
	}
}

func TestWhatALookMakesOfAVerdict(t *testing.T) {
	for _, c := range []struct {
		name   string
		before string
		seen   deploy.Seen
		after  string
	}{
		{"proved is healthy, whatever was said", "unhealthy", deploy.Seen{Proved: true}, "healthy"},
		{"a kernel waits for a reboot", "healthy", deploy.Seen{Proved: true, Reboot: true}, "reboot needed"},
		{"another system than the proved one", "healthy", deploy.Seen{}, unproved},
		{"what a run found stays", "unhealthy", deploy.Seen{}, "unhealthy"},
		{"it is there again", notThere, deploy.Seen{}, unproved},
		{"imported", "", deploy.Seen{}, unproved},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := model{Verdict: types.StringValue(c.before), Address: types.StringValue("root@192.0.2.7:22")}
			c.seen.Toplevel, c.seen.Generation = "/nix/store/x", 7
			o.see(c.seen, false)
			assert.Equal(t, o.Verdict.ValueString(), c.after)
			assert.Equal(t, o.Toplevel.ValueString(), "/nix/store/x")
			assert.Equal(t, o.Address.ValueString(), "root@192.0.2.7:22", "where it is comes from the coordinates")
		})
	}
}

func TestWhatApplyMends(t *testing.T) {
	w := &work{}
	w.keys.Switch.Reboot = "never"
	for verdict, want := range map[string]bool{"healthy": false, "reboot needed": false, "unhealthy": true, unproved: true, notThere: true} {
		assert.Check(t, w.mends(verdict) == want, verdict)
	}
	w.keys.Switch.Reboot = "if-needed"
	assert.Assert(t, w.mends("reboot needed"))
}

func TestTheErrorOfARun(t *testing.T) {
	sick := &report.Fault{Code: report.Unhealthy, What: "judge the machine", Why: errors.New("1 unit unhealthy")}
	words := errors.New("apply: slipway_machine.web: deploy: judge the machine: 1 unit unhealthy")
	lost := report.Fail("bring the state into the backend", errors.New("503"), "")
	for _, c := range []struct {
		name   string
		work   *work
		tofu   error
		code   report.Code
		text   string
		hidden string
	}{
		{"none", &work{}, nil, report.Healthy, "", ""},
		{"OpenTofu's own", &work{}, lost, report.Failed, "503", ""},
		{"the provider's, without OpenTofu's words for it", &work{failed: sick}, words, report.Unhealthy, "1 unit unhealthy", "slipway_machine"},
		{"the provider's, of which OpenTofu was not told", &work{failed: sick, hidden: true}, nil, report.Unhealthy, "1 unit unhealthy", ""},
		{"both: what became of the state counts more", &work{failed: sick, hidden: true}, lost, report.Failed, "1 unit unhealthy", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.work.prefer(c.tofu)
			assert.Equal(t, report.CodeOf(err), c.code)
			if c.text != "" {
				assert.ErrorContains(t, err, c.text)
			}
			if c.hidden != "" {
				assert.Assert(t, !cmp.Contains(err.Error(), c.hidden)().Success())
			}
		})
	}
}

func TestTheStateOfAnotherIsRefused(t *testing.T) {
	w := &work{reach: deploy.Reach{Deployment: deployment(groups.External{})}}
	assert.NilError(t, w.ours("operator-web"))
	assert.Equal(t, report.CodeOf(w.ours("operator-forge")), report.Refused)
}

func TestACallEndsWithTheRunForItsReason(t *testing.T) {
	run, cancel := context.WithCancelCause(t.Context())
	within := joined(run)
	ctx, stop := within(t.Context())
	defer stop()
	why := errors.New("stopped")
	cancel(why)
	<-ctx.Done()
	assert.Equal(t, context.Cause(ctx), why)

	call, end := context.WithCancel(t.Context())
	ctx, stop = joined(t.Context())(call)
	defer stop()
	end()
	<-ctx.Done()
}
