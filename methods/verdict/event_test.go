package verdict

import (
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	gocmp "github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
)

const second = time.Second

func again(at time.Duration, n int) event {
	return event{at: at, unit: "web.service", kind: restarted, restarts: n}
}

func TestFollow(t *testing.T) {
	up := func(restarts int, started time.Duration) Unit {
		return Unit{Name: "web.service", Active: "active", Restarts: restarts, Started: started, Delay: second}
	}
	for _, c := range []struct {
		name   string
		unit   Unit
		before *Unit
		events []event
		want   course // since 100 s
	}{
		{"nothing happened", up(0, 50*second), &Unit{Started: 50 * second}, nil, course{}},
		{"restarts of long ago", up(7, 50*second), &Unit{Restarts: 7, Started: 50 * second}, nil, course{}},
		{
			"restarted once", up(1, 106*second), nil,
			[]event{{at: 102 * second, unit: "web.service", kind: started}, again(106*second, 1)},
			course{restarts: 1, longest: 3 * second, first: 106 * second, last: 106 * second},
		},
		{
			"restarted twice", up(2, 120*second), nil,
			[]event{{at: 102 * second, kind: started}, again(106*second, 1), again(120*second, 2)},
			course{restarts: 2, longest: 13 * second, first: 106 * second, last: 120 * second},
		},
		{"known from samples alone", up(2, 120*second), &Unit{Started: 101 * second}, nil, course{restarts: 2, longest: 18 * second, first: 120 * second, last: 120 * second}},
		{"a sample that knows more", up(3, 130*second), nil, []event{again(110*second, 2)}, course{restarts: 3, longest: 19 * second, first: 110 * second, last: 130 * second}},
		{"grown over the baseline", up(9, 120*second), &Unit{Restarts: 7, Started: 110 * second}, nil, course{restarts: 2, longest: 9 * second, first: 120 * second, last: 120 * second}},
		{"reset by the switch", up(0, 120*second), &Unit{Restarts: 7}, nil, course{}},
		{"reset, then restarted", up(1, 120*second), &Unit{Restarts: 7, Started: 101 * second}, nil, course{restarts: 1, longest: 18 * second, first: 120 * second, last: 120 * second}},
		{
			"a loop that was mended", up(0, 120*second), &Unit{Restarts: 7},
			[]event{again(101*second, 8), again(103*second, 9)},
			course{},
		},
		{
			"as often again as before", up(1, 120*second), &Unit{Restarts: 1, Started: 110 * second},
			[]event{again(120*second, 1)},
			course{restarts: 1, longest: 9 * second, first: 120 * second, last: 120 * second},
		},
		{
			"a loop that goes on after the reset", up(2, 125*second), &Unit{Restarts: 7, Started: 98 * second},
			[]event{again(101*second, 8), again(120*second, 1), again(125*second, 2)},
			course{restarts: 2, longest: 18 * second, first: 120 * second, last: 125 * second},
		},
		{
			"waits to be restarted",
			Unit{Name: "web.service", Active: "activating", Sub: "auto-restart", Started: 110 * second, Exited: 114 * second},
			nil, nil,
			course{longest: 4 * second},
		},
		{"a job", up(0, 0), nil, []event{{kind: finished, result: "dependency"}, {kind: finished, result: "done"}}, course{job: "done", refused: "dependency"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := follow(c.unit, c.before, 100*second, c.events)
			got.starts = nil // another test is about them
			assert.DeepEqual(t, got, c.want, gocmp.AllowUnexported(course{}))
		})
	}
}

func TestParseEvents(t *testing.T) {
	entry := func(fields string) string {
		return `{"UNIT":"web.service","__MONOTONIC_TIMESTAMP":"1500000",` + fields + "}\n"
	}
	at := 1500 * time.Millisecond
	for _, c := range []struct {
		name string
		text string
		want []event
	}{
		{"a restart", entry(`"MESSAGE_ID":"` + unitRestarts + `","N_RESTARTS":"3"`), []event{again(at, 3)}},
		{"a start that failed", entry(`"MESSAGE_ID":"` + unitFailed + `","JOB_RESULT":"dependency","JOB_TYPE":"start"`), []event{{at: at, unit: "web.service", kind: finished, result: "dependency"}}},
		{
			"a start", entry(`"MESSAGE_ID":"` + unitStarted + `","JOB_RESULT":"done","JOB_TYPE":"start"`),
			[]event{{at: at, unit: "web.service", kind: finished, result: "done"}, {at: at, unit: "web.service", kind: started}},
		},
		{"a restart without a number", entry(`"MESSAGE_ID":"` + unitRestarts + `"`), nil},
		{"another message", entry(`"MESSAGE_ID":"00"`), nil},
		{"no unit", `{"__MONOTONIC_TIMESTAMP":"1","MESSAGE_ID":"` + unitRestarts + `","N_RESTARTS":"3"}`, nil},
		{"no time", `{"UNIT":"web.service","MESSAGE_ID":"` + unitRestarts + `","N_RESTARTS":"3"}`, nil},
		{"a switch of ours", `{"UNIT":"slipway-switch-1.service","__MONOTONIC_TIMESTAMP":"1","MESSAGE_ID":"` + unitFailed + `","JOB_RESULT":"failed"}`, nil},
		{"cut off, and no entry at all", "-- No entries --\n{\"UNIT\":\"we", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parseEvents(c.text)
			assert.Equal(t, len(got), len(c.want), "%v", got)
			for i := range got {
				assert.Equal(t, got[i], c.want[i])
			}
		})
	}
}

func TestEventsOfSignals(t *testing.T) {
	path := dbus.ObjectPath(unitPath + "web_40a_2dx_2eservice")
	changed := func(properties map[string]dbus.Variant) *dbus.Signal {
		return &dbus.Signal{Name: changedSignal, Path: path, Body: []any{systemd + ".Service", properties, []string{}}}
	}
	for _, c := range []struct {
		name   string
		signal *dbus.Signal
		want   []event
	}{
		{
			"a job", &dbus.Signal{Name: systemd + ".Manager.JobRemoved", Body: []any{uint32(1), dbus.ObjectPath("/"), "web.service", "dependency"}},
			[]event{{at: second, unit: "web.service", kind: finished, result: "dependency"}},
		},
		{"half a job", &dbus.Signal{Name: systemd + ".Manager.JobRemoved", Body: []any{uint32(1), dbus.ObjectPath("/"), "web.service"}}, nil},
		{"a job of no name", &dbus.Signal{Name: systemd + ".Manager.JobRemoved", Body: []any{1, 2, 3, 4}}, nil},
		{
			"a restart, and the start in it",
			changed(map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(uint32(2)), "ExecMainStartTimestampMonotonic": dbus.MakeVariant(uint64(900_000))}),
			[]event{{at: second, unit: "web@a-x.service", kind: restarted, restarts: 2}, {at: 900 * time.Millisecond, unit: "web@a-x.service", kind: started}},
		},
		{"values of other types", changed(map[string]dbus.Variant{"NRestarts": dbus.MakeVariant("2"), "ExecMainStartTimestampMonotonic": dbus.MakeVariant(int32(-1))}), nil},
		{"a moment that never comes", changed(map[string]dbus.Variant{"ExecMainStartTimestampMonotonic": dbus.MakeVariant(^uint64(0))}), nil},
		{"properties of another thing", &dbus.Signal{Name: changedSignal, Path: "/org/freedesktop/systemd1/job/1", Body: []any{"x", map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(uint32(2))}}}, nil},
		{"no properties", &dbus.Signal{Name: changedSignal, Path: path, Body: []any{"x", "y"}}, nil},
		{"another signal", &dbus.Signal{Name: systemd + ".Manager.Reloading", Body: []any{true}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := eventsOf(c.signal, second)
			assert.Equal(t, len(got), len(c.want), "%v", got)
			for i := range got {
				assert.Equal(t, got[i], c.want[i])
			}
		})
	}
}

const changedSignal = properties + ".PropertiesChanged"

func FuzzEventsOfSignals(f *testing.F) {
	f.Add(unitPath+"web_2eservice", "web.service", "done", uint32(1), uint64(1), uint8(0))
	f.Add(unitPath+"web_2", "", "", uint32(1<<31), ^uint64(0), uint8(1))
	f.Add("/", "x", "y", uint32(0), uint64(0), uint8(2))
	f.Fuzz(func(t *testing.T, path, unit, result string, restarts uint32, at uint64, shape uint8) {
		values := []any{unit, result, restarts, at, map[string]dbus.Variant{"NRestarts": dbus.MakeVariant(restarts), "ExecMainStartTimestampMonotonic": dbus.MakeVariant(at)}, nil, dbus.Variant{}}
		var body []any
		for i := range 4 {
			body = append(body, values[(int(shape)>>i+i)%len(values)])
		}
		for _, name := range []string{systemd + ".Manager.JobRemoved", systemd + ".Manager.UnitNew", changedSignal} {
			for cut := range body {
				signal := &dbus.Signal{Name: name, Path: dbus.ObjectPath(path), Body: body[:cut]}
				_, _ = newUnit(signal)
				for _, e := range eventsOf(signal, second) {
					if e.kind == 0 || e.restarts < 0 || e.at < 0 {
						t.Errorf("%+v", e)
					}
				}
			}
		}
	})
}
