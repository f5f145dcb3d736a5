package program

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// checking is a method whose tasks look at their coordinates before a run.
type checking struct{ *fake }

type checkedTask struct{ *work }

func (c checking) Task(d methods.Deployment, verb string) task.Task {
	return checkedTask{c.fake.Task(d, verb).(*work)}
}

func (t checkedTask) Check(env.Environment) error {
	if t.machine == "mail" {
		return nil
	}
	return errors.New("no key of " + t.machine + " opens anything")
}

func TestWhatCannotBeUsedIsSaidBeforeAnythingStarts(t *testing.T) {
	f := newFake("ssh")
	r := registryOf(t, []methods.Method{checking{f}}, group("operator", []string{"ssh"}, machine("mail"), machine("web"), internal("db")))
	s, err := r.NewSession(t.Context(), env.Map(nil), Streams{Out: discard{}, Err: discard{}})
	assert.NilError(t, err)
	err = s.Run(t.Context(), callsOf("operator-ssh-combined")...)
	assert.Equal(t, report.CodeOf(err), report.Usage)
	assert.ErrorContains(t, err, "operator-ssh-web-apply: no key of web opens anything")
	assert.ErrorContains(t, err, "operator-ssh-db-apply: no key of db opens anything")
	assert.Assert(t, cmp.Len(f.seen(), 0))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func TestPlainKeysServeARunOfOneMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		names []string
		code  report.Code
	}{
		{"one program", []string{"ssh-web"}, report.Healthy},
		{"two programs of one machine", []string{"ssh-web-plan", "ssh-web"}, report.Healthy},
		{"two machines", []string{"ssh-web", "ssh-mail"}, report.Usage},
		{"a machine and the group", []string{"ssh-web", "all"}, report.Usage},
		{"the group and a machine", []string{"all", "ssh-web"}, report.Usage},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web"), machine("mail"))
			w.ssh.keys = withHostKeys
			got := w.run(t.Context(), map[string]string{"FAKE_HOST": "web.example"}, c.names...)
			assert.Equal(t, report.CodeOf(got.err), c.code)
			if c.code == report.Usage {
				assert.ErrorContains(t, got.err, "MAIL_FAKE_HOST: missing")
				assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
			}
		})
	}
}
