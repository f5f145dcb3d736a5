//go:build checks

package guest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest/qemu"
)

func TestGuestDiesWithItsCaller(t *testing.T) {
	for _, kind := range []Kind{VM, Container} {
		t.Run(string(kind), func(t *testing.T) {
			o := options(t, kind)
			h := startHelper(t, "boot", o)
			r := h.report(t)
			_, err := r.Access.run(t.Context(), "true")
			assert.NilError(t, err)
			assert.Assert(t, len(processesOf(o.Dir)) > 0)

			assert.NilError(t, h.cmd.Process.Kill()) // SIGKILL: nothing of ours runs any more
			_ = h.cmd.Wait()
			assertNothingLeft(t, o.Dir, r.Groups)
		})
	}
}

func TestGuestDiesWithItsGuardian(t *testing.T) {
	o := options(t, Container)
	g := boot(t, o)
	text, err := os.ReadFile(filepath.Join(o.Dir, guardianFile))
	assert.NilError(t, err)
	sh(t, g, "true")
	killPID(t, string(text))
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if g.engine.running(t.Context()) {
			return poll.Continue("the guardian's guest runs")
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	// What boot registered checks that Close leaves nothing.
}

func TestGuestStartedOutlivesItsCaller(t *testing.T) {
	o := options(t, VM)
	o.Forward = []int{80}
	r := startHelper(t, "start", o).report(t)
	g, err := Find(o.Dir)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, qemu.Kill(context.WithoutCancel(t.Context()), o.Dir)) })
	assert.Equal(t, g.Access(), r.Access)
	assert.Equal(t, sh(t, g, "hostname"), "web")
	_, ok := g.Port(80)
	assert.Assert(t, ok)
	assert.NilError(t, g.SetLink(t.Context(), true))

	assert.NilError(t, g.Kill(t.Context()))
	_, err = Find(o.Dir)
	assert.ErrorIs(t, err, ErrNotRunning)
	assert.ErrorContains(t, err, "web: the guest is not running")

	again, err := Start(t.Context(), o)
	assert.NilError(t, err)
	assert.Equal(t, sh(t, again, "hostname"), "web")
	found, err := Find(o.Dir)
	assert.NilError(t, err)
	assert.NilError(t, found.Close())
	_, err = Find(o.Dir)
	assert.ErrorIs(t, err, ErrNoGuest)
	left, err := os.ReadDir(o.Dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 1) // the lock, which others may wait for
	assertNothingLeft(t, o.Dir, nil)
}

func TestGuestStartRecoversFromAnInterruptedOne(t *testing.T) {
	o := options(t, VM)
	assert.NilError(t, Prepare(t.Context(), o))
	h := startHelper(t, "start and stick", o)
	t.Cleanup(func() { assert.Check(t, qemu.Kill(context.WithoutCancel(t.Context()), o.Dir)) })
	h.report(t)
	assert.Assert(t, exists(filepath.Join(o.Dir, qemu.QMPSocket)), "QEMU is not there")
	assert.NilError(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
	_, err := Find(o.Dir)
	assert.ErrorIs(t, err, ErrNotRunning)
	assert.ErrorContains(t, err, "its start was interrupted")

	g, err := Start(t.Context(), o)
	assert.NilError(t, err)
	sh(t, g, "true")
	assert.NilError(t, g.Close())
	assertNothingLeft(t, o.Dir, nil)
}
