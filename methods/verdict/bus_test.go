package verdict

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

func TestUnitNames(t *testing.T) {
	for path, want := range map[dbus.ObjectPath]string{
		unitPath + "web_2eservice":                       "web.service",
		unitPath + "dev_2ddisk_2dby_5cx2dlabel_2edevice": `dev-disk-by\x2dlabel.device`,
		unitPath + "user_401000_2eservice":               "user@1000.service",
		unitPath + "web_2":                               "",
		unitPath + "web_zz":                              "",
		"/org/freedesktop/systemd1/job/12":               "",
		"":                                               "",
	} {
		assert.Equal(t, unitName(path), want, string(path))
	}
}

func TestWhatTheBusKeeps(t *testing.T) {
	for unit, want := range map[string]bool{
		"web.service": true, "web.socket": true, "web.timer": true, "web.path": true,
		"dev-sda.device": false, "var.mount": false, "session-1.scope": false, "slipway-switch-1.service": false, "": false,
	} {
		assert.Equal(t, keeps(unit), want, unit)
	}
}

func TestTheBusTellsEachThingOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		restarts := func(n uint32) *dbus.Message {
			return change("web.service", map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(n)})
		}
		p := &peer{says: func(ctx context.Context, say func(*dbus.Message) error) error {
			<-time.After(time.Second)
			// As it was at the baseline, restarted, said again, reset, restarted.
			for _, m := range []*dbus.Message{restarts(7), restarts(8), restarts(8), restarts(0), restarts(1), jobRemoved("web.service", "done")} {
				if err := say(m); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		}}
		m := &machine{bus: p.serve}
		b, err := listen(t.Context(), m, func() time.Duration { return 100 * second })
		assert.NilError(t, err)
		b.begin(Sample{Units: []Unit{{Name: "web.service", Load: "loaded", Restarts: 7}, {Name: "odd.mount", Load: "loaded"}}})
		<-time.After(2 * time.Second)
		assert.Assert(t, b.alive())
		at := 100 * second
		got := b.heard()
		want := []event{again(at, 8), again(at, 1), {at: at, unit: "web.service", kind: finished, result: "done"}}
		assert.Equal(t, len(got), len(want), "%v", got)
		for i := range got {
			assert.Equal(t, got[i], want[i])
		}
		assert.Equal(t, len(b.wake), 1)
		b.close()
		assert.Assert(t, !b.alive())
		assert.DeepEqual(t, p.kept, []string{"web.service"})
	})
}

func TestABusThatCannotBeOpened(t *testing.T) {
	for _, c := range []struct {
		name string
		bus  func(ctx context.Context, in io.Reader, out io.Writer) error
		took time.Duration
		says string
	}{
		{"no bridge", nil, 0, "systemd-stdio-bridge: not found"},
		{"a bridge that ends", func(context.Context, io.Reader, io.Writer) error { return errors.New("exit status 1: no bus") }, 0, "no bus"},
		{"a bridge that says something else", func(ctx context.Context, _ io.Reader, out io.Writer) error {
			_, err := io.WriteString(out, "welcome to this machine\r\n")
			<-ctx.Done()
			return err
		}, busLimit, "no answer within 10s"},
		{"a bridge that says nothing", func(ctx context.Context, _ io.Reader, _ io.Writer) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}, busLimit, "no answer within 10s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				began := time.Now()
				w, err := Observe(t.Context(), &machine{bus: c.bus, samples: []any{printed(100)}}, report.NewLog(report.Plain(&log)))
				assert.NilError(t, err)
				defer w.Close()
				assert.Assert(t, w.bus == nil)
				assert.Equal(t, time.Since(began), c.took)
				assert.Assert(t, strings.Contains(log.String(), c.says), log.String())
			})
		})
	}
}

// crowded is a machine that answers nothing while its bus is open.
type crowded struct {
	machine
	open bool
}

func (m *crowded) Attach(ctx context.Context, script string, in io.Reader, out io.Writer) error {
	m.open = true
	defer func() { m.open = false }()
	return m.machine.Attach(ctx, script, in, out)
}

func (m *crowded) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	if m.open {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return m.machine.Output(ctx, script, args...)
}

func TestABusThatTakesTheOnlySession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{}
		w, err := Observe(t.Context(), &crowded{machine: machine{bus: p.serve, samples: []any{printed(100)}}}, &report.Log{})
		assert.NilError(t, err)
		defer w.Close()
		assert.Assert(t, w.bus == nil)
	})
}

// sluggish is a machine that takes its time.
type sluggish struct{ machine }

func (m *sluggish) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	<-time.After(3 * time.Second)
	return m.machine.Output(ctx, script, args...)
}

func TestASlowMachineIsNotListenedTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &peer{}
		w, err := Observe(t.Context(), &sluggish{machine{bus: p.serve, samples: []any{printed(100)}}}, &report.Log{})
		assert.NilError(t, err)
		defer w.Close()
		assert.Assert(t, w.bus == nil)
	})
}

func TestWhetherAnotherLookIsWorthItsTime(t *testing.T) {
	died := change("web.service", map[string]dbus.Variant{
		"ExecMainExitTimestampMonotonic": dbus.MakeVariant(uint64(111000000)), "ExecMainCode": dbus.MakeVariant(int32(1)), "ExecMainStatus": dbus.MakeVariant(int32(9)),
	})
	for _, c := range []struct {
		name string
		says *dbus.Message
		want bool
	}{
		{name: "nothing happened"},
		{name: "a job was done", says: jobRemoved("session-2.scope", "done")},
		{name: "a unit of ours ended", says: jobRemoved("slipway-commit-0a.service", "failed")},
		{name: "a job failed", says: jobRemoved("web.service", "failed"), want: true},
		{name: "a process died", says: died, want: true},
		{name: "a service was restarted", says: change("web.service", map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(uint32(1))}), want: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{says: func(ctx context.Context, say func(*dbus.Message) error) error {
					<-time.After(time.Minute) // after the verdict
					if c.says != nil {
						assert.Check(t, say(c.says))
					}
					<-ctx.Done()
					return nil
				}}
				m := &machine{bus: p.serve, samples: []any{printed(100, web("active")), printed(110, web("active"))}}
				w, err := Observe(t.Context(), m, &report.Log{})
				assert.NilError(t, err)
				defer w.Close()
				_, err = w.Judge(t.Context(), m, Options{Limit: time.Minute})
				assert.NilError(t, err)
				assert.Assert(t, !w.Stirred())
				<-time.After(2 * time.Minute)
				synctest.Wait()
				assert.Equal(t, w.Stirred(), c.want)
				if c.want { // which the next look has seen
					_, err = w.Judge(t.Context(), m, Options{Limit: time.Minute})
					assert.NilError(t, err)
					assert.Assert(t, !w.Stirred())
				}
			})
		})
	}
}

func TestAnotherLookWithoutTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := Observe(t.Context(), &machine{samples: []any{printed(100)}}, &report.Log{})
		assert.NilError(t, err)
		assert.Assert(t, w.Stirred(), "nobody knows")
		w, err = Observe(t.Context(), &sluggish{machine{samples: []any{printed(100)}}}, &report.Log{})
		assert.NilError(t, err)
		assert.Assert(t, !w.Stirred(), "a look takes long")
	})
}
