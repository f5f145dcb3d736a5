package nixos

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestFence holds every step that changes something to the fence of its run.
func TestFence(t *testing.T) {
	t.Parallel()
	mine, other := newFence(), newFence()
	for _, c := range []struct {
		name   string
		fence  string // on the machine
		status int
	}{
		{name: "the machine is locked by this run", fence: mine.token},
		{name: "another run has locked it since", fence: other.token, status: fencedStatus},
		{name: "the machine rebooted since", status: goneStatus},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			if c.fence == "" {
				assert.NilError(t, os.RemoveAll(m.dir.Join("run")))
			} else {
				m.write("run/fence", c.fence+"\n")
			}
			err := m.run(mine.fencedScript("touch " + m.dir.Join("changed")))
			assert.Equal(t, m.exitCode(err), c.status)
			found, err := filepath.Glob(m.dir.Join("changed"))
			assert.NilError(t, err)
			assert.Equal(t, len(found) == 1, c.status == 0)
		})
	}
}

// TestLockAgain takes a lock again: only when it was no other run's meanwhile.
func TestLockAgain(t *testing.T) {
	t.Parallel()
	mine, other := newFence(), newFence()
	for _, c := range []struct {
		name, fence, again string
		taken              bool
	}{
		{name: "first", fence: other.token, taken: true},
		{name: "again, and nobody had it", fence: mine.token, again: "again", taken: true},
		{name: "again, after a reboot", again: "again", taken: true},
		{name: "again, and another run had it", fence: other.token, again: "again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			if c.fence != "" {
				m.write("run/fence", c.fence+"\n")
			}
			err := m.run(lockScript, "the program", mine.token, c.again)
			assert.Equal(t, err == nil, c.taken, "%v", err)
			want := c.fence
			if c.taken {
				want = mine.token
			}
			assert.Equal(t, strings.TrimSpace(m.read("run/fence")), want)
		})
	}
}

// TestSweepLeavesGuardsAlone starts no switch beside a guard that is at work, and
// takes the folder of none away.
func TestSweepLeavesGuardsAlone(t *testing.T) {
	t.Parallel()
	for state, swept := range map[string]bool{"active": false, "activating": false, "deactivating": false, "": false, "inactive": true, "failed": true} {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			m.write("unit/ActiveState", state)
			assert.NilError(t, os.Mkdir(m.dir.Join("run/slipway-switch-a"), 0o700))
			m.write("run/slipway-switch-a/guard", "")
			err := m.run(sweepScript + "\nsweep")
			assert.Equal(t, err == nil, swept, "%v", err)
			found, err := filepath.Glob(m.dir.Join("run/slipway-switch-*"))
			assert.NilError(t, err)
			assert.Equal(t, len(found) == 0, swept)
		})
	}
}
