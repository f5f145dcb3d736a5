package nixos

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestWhatASwitchLeavesPending(t *testing.T) {
	const other = "/nix/store/22222222222222222222222222222222-nixos-system-web"
	for _, c := range []struct {
		name    string
		before  string // pending
		guard   string // exit status of what starts it
		unit    string // the same, of the switch
		sub     string // state of the switch's unit then
		starts  bool
		code    SwitchCode // of the switch
		signal  bool       // that ended it, instead
		says    Said
		half    bool // it died half-way
		current string
		after   string
	}{
		{name: "well", guard: "0", unit: "0", starts: true, code: 0, current: newSystem},
		{name: "well, after one that did not", before: other, guard: "0", unit: "0", starts: true, code: 0, current: newSystem},
		{name: "with failed units", guard: "0", unit: "0", starts: true, code: 4, current: newSystem, after: newSystem},
		{name: "with another under way", guard: "0", unit: "0", starts: true, code: 11, says: locked, current: oldSystem},
		{name: "with another under way, of a system that runs already", before: newSystem, guard: "0", unit: "0", starts: true, code: 11, says: locked, current: newSystem, after: newSystem},
		{name: "refused", guard: "0", unit: "0", starts: true, code: 1, current: oldSystem},
		{name: "refused, after one that did not end well", before: other, guard: "0", unit: "0", starts: true, code: 1, current: other, after: other},
		{name: "refused, of a system that runs already", before: newSystem, guard: "0", unit: "0", starts: true, code: 1, says: refusal, current: newSystem, after: newSystem},
		{name: "refused, of a system that ran already and was left for another", guard: "0", unit: "0", starts: true, code: 1, says: refusal, current: newSystem},
		{name: "without a bus while it stopped units", guard: "0", unit: "0", starts: true, code: 1, says: begun, current: oldSystem, after: newSystem},
		{name: "without a bus while it stopped units, its output lost", guard: "0", unit: "0", starts: true, code: 1, half: true, current: oldSystem, after: newSystem},
		{name: "without an answer about who is logged in", guard: "0", unit: "0", starts: true, code: 11, says: begun, half: true, current: newSystem, after: newSystem},
		{name: "failed half-way", guard: "0", unit: "0", starts: true, code: 1, current: newSystem, after: newSystem},
		{name: "by a signal", guard: "0", unit: "0", starts: true, signal: true, current: oldSystem, after: newSystem},
		{name: "without a guard to be had", guard: "1", unit: "0"},
		{name: "without having started", guard: "0", unit: "1", sub: "failed"},
		{name: "without having started, after one that did not end well", before: other, guard: "0", unit: "1", sub: "dead", after: other},
		{name: "well, though systemd did not say in time that it took it up", guard: "0", unit: "1", sub: "running", starts: true, code: 0, current: newSystem},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			m.write("guard-starts", c.guard)
			m.write("unit-starts", c.unit)
			m.write("unit/SubState", c.sub)
			if c.before != "" {
				m.write("run/switching", c.before+"\n")
			}
			dir := m.dir.Join("run", "slipway-switch-x")
			err := m.run(startScript, "slipway-switch-x.service", newSystem, dir, "slipway-guard-x.service", oldSystem, "60", "900", guardScript, switchScript, "")
			assert.Equal(t, err == nil, c.starts, "%v", err)
			assert.Equal(t, m.read("run/slipway-switch-x/guard"), guardScript)
			assert.Equal(t, strings.TrimSpace(m.read("run/switching")), c.before, "nothing is under way yet")
			if c.starts {
				// Its program is not there: how it ended is made up.
				assert.ErrorContains(t, m.run(switchScript, newSystem, dir, ""), "exit status")
				assert.Equal(t, strings.TrimSpace(m.read("run/switching")), newSystem)
				assert.NilError(t, os.Symlink(c.current, m.dir.Join("current-system")))
				if c.half {
					m.write("run/slipway-switch-x/half", "")
				}
				ended := Switched{Code: c.code, Result: "exit-code", Said: c.says}
				how := strconv.Itoa(int(c.code))
				if c.signal {
					ended.Result, how = "signal", "signal"
				}
				out, err := m.output(sayScript+collectScript, "slipway-switch-x.service", how, dir)
				assert.NilError(t, err)
				to := ended.collected(out)
				assert.Equal(t, to, newSystem)
				assert.Equal(t, ended.Current, c.current)
				if ended.Untouched(to) {
					assert.NilError(t, m.run(untouchedScript, dir))
				}
				_, err = os.Stat(m.dir.Join("run/slipway-switch-x/started"))
				assert.NilError(t, err, "the guard must see that it had started")
			} else {
				assert.Assert(t, strings.Contains(m.read("done"), "systemctl stop slipway-guard-x"))
				_, err := os.Lstat(m.dir.Join("gcroots/slipway-before"))
				assert.Assert(t, os.IsNotExist(err))
			}
			assert.Equal(t, strings.TrimSpace(m.read("run/switching")), c.after)
		})
	}
}
