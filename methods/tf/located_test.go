package tf

import (
	"context"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/made"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func TestTheRecordHasTheAddressOfTheMachine(t *testing.T) {
	for host, want := range map[string][]string{"192.0.2.7": {"192.0.2.7"}, "2001:db8::7": {"2001:db8::7"}, "web.example.org": nil} {
		t.Run(host, func(t *testing.T) {
			v := New(nil, nil).Task(deployment(groups.External{}), tofu.Refresh).(*verbTask)
			environment := env.Map(map[string]string{
				"SSH_HOST": host, "SSH_HOST_KEY": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDswluWw3MQOwsEN3kLTBhvHPH+W7MvgXDQkphLw1orY", "SSH_AUTH_SOCK": "/nobody", "CACHE_DIR": t.TempDir(), "TF_HTTP_ADDRESS": "http://127.0.0.1:1/web",
				"TF_HTTP_LOCK_ADDRESS": "http://127.0.0.1:1/web/lock", "TF_HTTP_UNLOCK_ADDRESS": "http://127.0.0.1:1/web/lock",
			})
			assert.NilError(t, environment.Load(t.Context(), env.For{Machine: "web", Alone: true}, v.Coordinates()...))
			run := &task.Run{Environment: environment, Log: report.NewLog(nil), Record: &report.Record{}}
			_, stop, err := v.deployment(t.Context(), run, &work{run: run, reach: v.reach, within: joined(t.Context())})
			assert.NilError(t, err)
			stop()
			assert.DeepEqual(t, run.Record.Addresses, want)
		})
	}
}

type machineMade = made.Machine

// maker makes machines that are at a place, where nobody answers.
type maker struct {
	machineMade
	at  deploy.Reached
	err error
}

func (maker) Name() string                              { return "tf-made" }
func (maker) Description() string                       { return "" }
func (maker) Placement() string                         { return "" }
func (m maker) Machine(methods.Deployment) made.Machine { return m }
func (m maker) Find(context.Context, *task.Run) (deploy.Reached, error) {
	return m.at, m.err
}

// TestALookAtAMadeMachineRecordsWhereItIs looks as a plan does that changes nothing,
// which never deploys.
func TestALookAtAMadeMachineRecordsWhereItIs(t *testing.T) {
	target := remote.Target{Host: "127.0.0.1", Port: 1}
	for _, c := range []struct {
		name string
		made maker
		want []string
	}{
		{"reached at one of several", maker{at: deploy.Reached{Target: target, Addresses: []string{"127.0.0.1", "192.0.2.7", "2001:db8::7"}}}, []string{"127.0.0.1", "192.0.2.7", "2001:db8::7"}},
		{"the one alone", maker{at: deploy.Reached{Target: target}}, []string{"127.0.0.1"}},
		{"not there", maker{err: deploy.ErrNotThere}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Making(c.made).Task(deployment(groups.External{}), tofu.PlanVerb).(*verbTask)
			run := &task.Run{Log: report.NewLog(nil), Record: &report.Record{}}
			w := &work{run: run, reach: v.reach, made: true, within: joined(t.Context())}
			_, err := w.look(t.Context())
			assert.Assert(t, err != nil, "nobody answers there")
			assert.DeepEqual(t, run.Record.Addresses, c.want)
			assert.Equal(t, run.Record.Awaited, c.want == nil)
		})
	}
}
