// Package deploy brings a NixOS machine that can be reached to a system, and
// proves it there. What the verbs of several methods do with such a machine is
// here; how it came to be, and how one finds out where it is, is theirs.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// change is one change of a machine's system, from the lock to the verdict:
//
//	begin   lock the machine, and settle what an earlier run left
//	to      switch under a guard → log in anew → judge → confirm over a new login,
//	        or let the guard bring the machine back where that is asked for
//	        → make it the default at boot → reboot where that is asked for
//
// What is not proved is never the default at boot, and a machine that can't be
// reached any more goes back by itself.
type change struct {
	*task.Run
	reach   Reach
	owner   OwnerKeys
	keys    SwitchKeys
	verdict VerdictKeys

	reached  Reached
	conn     *remote.Conn   // the one that is good now
	conns    []*remote.Conn // all of them: the lock lives on one
	lease    *nixos.Lease
	fence    nixos.Fence // of the lease, and of each that follows it
	lockedBy *remote.Conn
	machine  nixos.Machine // as it was found
	arrived  string        // toplevel to which a switch of an earlier run has just come
	stirred  bool          // something of an earlier run, or a way back, has just ended on it
	doubted  bool          // no verdict stood for the system of the baseline
}

// destination is a system to bring a machine to.
type destination struct {
	toplevel   string
	generation int // 0 means a new one
}

// sessionsAtOnce is how many sessions a change has open on one connection: the lock,
// what listens to the machine's units, a step or a look, and what ends one that hangs.
const sessionsAtOnce = 4

// adopt makes a connection the one that is used from now on.
func (c *change) adopt(conn *remote.Conn) {
	if conn != nil && conn != c.conn {
		c.conn = conn
		c.conns = append(c.conns, conn)
	}
}

// end gives everything back.
func (c *change) end() {
	if c.lease != nil {
		c.lease.Release()
	}
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// begin connects, locks the machine, and settles what an earlier run left.
func (c *change) begin(ctx context.Context) error {
	conn, reached, err := c.reach.up(ctx, c.Run)
	if err != nil {
		return err
	}
	c.reached = reached
	c.adopt(conn)
	if err := conn.Need(ctx, sessionsAtOnce); err != nil {
		return err
	}
	if c.lease, err = nixos.Lock(ctx, conn, c.Program); err != nil {
		// What can't be locked may be no NixOS at all, which says more.
		if _, refused := c.reach.inspect(ctx, conn, c.Run); report.CodeOf(refused) == report.Refused {
			return refused
		}
		return err
	}
	c.lockedBy, c.fence = conn, c.lease.Fence
	return c.settle(ctx)
}

// unchanged ends a run that found the machine as it should be.
func (c *change) unchanged(ctx context.Context) error {
	c.Log.Infof("nothing changed: %s runs already", c.machine.Current)
	c.Record.Generation = c.machine.Generation
	if err := c.judge(ctx, nil, c.machine.Current, verdict.Switch{}); err != nil {
		return err
	}
	if err := c.mark(ctx); err != nil {
		return err
	}
	return c.reboot(ctx, nil, destination{toplevel: c.machine.Current}, false)
}

// judge judges the machine, which ought to run a toplevel. Without a watch one
// look is enough.
func (c *change) judge(ctx context.Context, watch *verdict.Watch, toplevel string, ended verdict.Switch) error {
	options := c.options(watch, toplevel)
	options.Switch, options.Changed = ended, c.stirred
	return judge(ctx, c.conn, c.Run, watch, options)
}

func (c *change) options(watch *verdict.Watch, toplevel string) verdict.Options {
	options := c.verdict.options(c.reach.Deployment.Machine, toplevel)
	if watch != nil && c.doubted {
		options.Baseline = verdict.Fail
	}
	return options
}

// judgeAgain looks at a machine that was found healthy once more.
func (c *change) judgeAgain(ctx context.Context, watch *verdict.Watch, toplevel string) error {
	if watch == nil {
		return nil
	}
	return judgeAgain(ctx, c.conn, c.Run, watch, c.options(watch, toplevel))
}

// observe takes the baseline of the machine that this run is about to change.
func (c *change) observe(ctx context.Context) (*verdict.Watch, error) {
	log := c.Log.In("verdict")
	if c.doubted = c.unprovedBefore(); c.doubted {
		log.Infof("the running system was not proved: what is broken in it counts")
	}
	return verdict.Observe(ctx, judged(c.conn), log)
}

// to brings the machine to a system, proves it there, and makes it the default
// at boot.
func (c *change) to(ctx context.Context, d destination) error {
	if c.arrived == d.toplevel && c.machine.Current == d.toplevel {
		c.Record.Changed = true
		c.Log.Infof("the switch of the earlier run did it; what is left is the verdict")
		return c.settled(ctx, nil, d, c.judge(ctx, nil, d.toplevel, verdict.Switch{}))
	}
	if err := nixos.Check(ctx, c.conn, d.toplevel, c.Log); err != nil {
		return c.inhibited(ctx, d, err)
	}
	watch, err := c.observe(ctx)
	if err != nil {
		return err
	}
	defer watch.Close()
	c.Record.Changed = true
	guard := c.guard(d.toplevel)
	s, ended, err := c.activate(ctx, d.toplevel, guard)
	if err != nil {
		if _, ok := errors.AsType[*nixos.NotStartedError](err); ok {
			c.Record.Changed = false
		}
		return err
	}
	code := int(ended.Code)
	c.Record.Switch = &code
	why := c.prove(ctx, s, watch, ended, d, guard)
	switch {
	case ctx.Err() != nil && why == nil:
		return c.leave(ctx, guard, context.Cause(ctx))
	case ctx.Err() != nil:
		return c.leave(ctx, guard, why)
	case guard.From != "" && c.unwanted(d.toplevel, why):
		return c.giveUp(ctx, s, guard, why)
	}
	err = c.confirm(ctx, s, guard)
	if errors.Is(err, nixos.ErrReverted) {
		return c.wentBack(ctx, d.toplevel, guard, err)
	}
	if errors.Is(why, verdict.ErrContact) && err != nil {
		why = nil // what came of the contact says more
	}
	if err != nil {
		return c.leave(ctx, guard, errors.Join(why, err))
	}
	switch {
	case report.CodeOf(why) == report.RebootNeeded:
		return c.byReboot(ctx, watch, d, why)
	case why != nil && ended.Untouched(d.toplevel):
		c.Record.Changed = false
		return why
	}
	return c.settled(ctx, watch, d, why)
}

// settled ends a change that arrived: what was proved becomes the default at boot,
// and is looked at right before that and after it, since both take their time.
func (c *change) settled(ctx context.Context, watch *verdict.Watch, d destination, why error) error {
	if why == nil {
		why = c.judgeAgain(ctx, watch, d.toplevel)
	}
	if why != nil {
		return c.unproved(ctx, d, why)
	}
	if err := c.commit(ctx, d); err != nil {
		return err
	}
	if err := c.judgeAgain(ctx, watch, d.toplevel); err != nil {
		return stays(err)
	}
	return c.reboot(ctx, watch, d, c.keys.Reboot == rebootAlways)
}

// prove tells what is wrong with the system that was switched to. Its guard is
// shown all the while that the machine can be reached. When contact is lost, it
// is looked for once more.
func (c *change) prove(ctx context.Context, s nixos.Switch, watch *verdict.Watch, ended nixos.Switched, d destination, guard nixos.Guard) error {
	if err := ended.Err(d.toplevel); err != nil {
		return err
	}
	once := func() error {
		defer c.show(ctx, s, guard)()
		return c.judge(ctx, watch, d.toplevel, verdict.Switch{Code: int(ended.Code), Units: ended.Said.Units, Users: ended.Said.Users})
	}
	why := once()
	if ctx.Err() == nil && errors.Is(why, verdict.ErrContact) && c.login(ctx, s, guard) == nil {
		return once()
	}
	return why
}

// show shows the guard, until what it returns is called, that the run is there.
func (c *change) show(ctx context.Context, s nixos.Switch, guard nixos.Guard) (stop func()) {
	if guard.From == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	conn, ended := c.conn, make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(guard.Confirm / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = s.Show(ctx, conn, c.fence) // whoever judges sees for himself that contact is lost
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// unprovedBefore tells whether the machine was found in a system that no verdict
// stands for. What is broken there may be the work of that system, and is no old
// fault.
func (c *change) unprovedBefore() bool {
	return c.machine.Current != c.machine.Profile || c.machine.Pending != ""
}

// guard is what brings the machine back, where that is wanted and possible.
func (c *change) guard(toplevel string) nixos.Guard {
	if c.keys.RollbackOn == rollbackNever || c.keys.Confirm == 0 {
		return nixos.Guard{}
	}
	if c.machine.Current == "" {
		c.Log.In("switch").Infof("the machine's first system: there is none to go back to")
		return nixos.Guard{}
	}
	back, proved := c.machine.Back(toplevel)
	if proved && back != c.machine.Current {
		c.Log.In("switch").Infof("the running system was not proved: the way back leads to %s", back)
	}
	return nixos.Guard{From: back, Confirm: time.Duration(c.keys.Confirm), Limit: time.Duration(c.keys.Limit)}
}

// guardDelay is by how much a guard may be later than a run to see that a switch
// takes too long: of the two, it decides.
const guardDelay = 30 * time.Second

// minKeepAlive is how often a connection is tried at most while a machine switches:
// one that is busy answers late.
const minKeepAlive = 3 * time.Second

// activate runs the switch to its end, and logs in anew.
func (c *change) activate(ctx context.Context, toplevel string, guard nixos.Guard) (nixos.Switch, nixos.Switched, error) {
	return c.carry(ctx, toplevel, guard, func() (nixos.Switch, error) { return nixos.StartSwitch(ctx, c.conn, c.fence, toplevel, guard) })
}

// carry starts a switch, runs it to its end, and logs in anew.
func (c *change) carry(ctx context.Context, toplevel string, guard nixos.Guard, start func() (nixos.Switch, error)) (nixos.Switch, nixos.Switched, error) {
	log := c.Log.In("switch")
	log.Infof("to %s", toplevel)
	defer c.Record.Time("switch")()
	if guard.From != "" {
		// Time for the loss to be noticed, and for two slow logins.
		c.conn.Hasten(max(guard.Confirm/12, minKeepAlive))
	}
	s, err := start()
	if _, ok := errors.AsType[*nixos.NotStartedError](err); ok {
		return s, nixos.Switched{}, report.Fail("switch to the new system", err, "the running system was not changed")
	}
	if err != nil {
		return s, nixos.Switched{}, c.leave(ctx, guard, err)
	}
	limit := time.Duration(c.keys.Limit)
	if guard.From != "" {
		limit += guardDelay
	}
	conn, ended, err := nixos.Follow(ctx, c.conn, c.fence, s, limit, c.Log)
	c.adopt(conn)
	if late, ok := errors.AsType[*wait.TimeoutError](err); ok && guard.From != "" && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", nixos.ErrReverted, late)
	}
	if err == nil {
		log.Infof("logging in anew")
		err = c.collect(ctx, s, guard, &ended)
	}
	if errors.Is(err, nixos.ErrGone) && ctx.Err() == nil {
		err = c.gone(ctx, err)
	}
	if errors.Is(err, nixos.ErrReverted) {
		return s, ended, c.wentBack(ctx, toplevel, guard, err)
	}
	if err != nil {
		return s, ended, c.leave(ctx, guard, err)
	}
	return s, ended, nil
}

// collect logs in anew and collects the switch there. A new system may close the
// way in a moment after it let us in: when contact is lost meanwhile, one more login
// tells whether it did.
func (c *change) collect(ctx context.Context, s nixos.Switch, guard nixos.Guard, ended *nixos.Switched) error {
	for attempt := 1; ; attempt++ {
		if err := c.login(ctx, s, guard); err != nil {
			return err
		}
		err := nixos.Collect(ctx, c.conn, c.fence, s, ended)
		if err == nil {
			stop := c.show(ctx, s, guard)
			err = c.relock(ctx)
			stop()
		}
		if _, lost := errors.AsType[*remote.Error](err); !lost || attempt == 2 || ctx.Err() != nil {
			return err
		}
		c.Log.In("switch").Warnf("contact lost; logging in once more: %v", err)
	}
}

// leave says what happens on the machine after this run.
func (c *change) leave(ctx context.Context, guard nixos.Guard, err error) error {
	if ctx.Err() != nil && guard.From != "" {
		c.Log.In("switch").Warnf("the machine goes back to %s by itself, unless a run takes over within %s", guard.From, guard.Confirm)
	}
	return err
}

// login logs in anew, and shows the machine so: a system that nobody can log in
// to any more is none to stay with, however well its units are.
func (c *change) login(ctx context.Context, s nixos.Switch, guard nixos.Guard) error {
	return c.anew(ctx, guard, s.Show)
}

// confirm logs in anew, and tells the machine for good that it can be reached.
func (c *change) confirm(ctx context.Context, s nixos.Switch, guard nixos.Guard) error {
	err := c.anew(ctx, guard, s.Confirm)
	c.conn.Relax() // from here on, nobody waits for a sign
	return err
}

// anew makes a new connection, and tells the machine over it. Under a guard it is
// tried for as long as that waits; the error is ErrReverted then.
func (c *change) anew(ctx context.Context, guard nixos.Guard, tell func(context.Context, *remote.Conn, nixos.Fence) error) error {
	login := func(ctx context.Context) error {
		conn, err := c.conn.Reconnect(ctx)
		if err != nil {
			return err
		}
		if err := tell(ctx, conn, c.fence); err != nil {
			_ = conn.Close()
			return err
		}
		c.adopt(conn)
		return nil
	}
	if guard.From == "" {
		err := login(ctx)
		if errors.Is(err, nixos.ErrGone) {
			return c.gone(ctx, err)
		}
		if err != nil && ctx.Err() == nil {
			return &report.Fault{
				Code: report.Unhealthy, What: "log in to the new system", Why: err,
				Hint: "the machine runs, but lets this run in no more, and nothing brings it back: look at its console",
			}
		}
		return err
	}
	w := wait.For{What: "a new login", Limit: guard.Confirm, Interval: min(time.Second, guard.Confirm/10)}
	err := w.Until(ctx, func(ctx context.Context) error {
		err := login(ctx)
		if errors.Is(err, nixos.ErrReverted) || errors.Is(err, nixos.ErrFenced) {
			return wait.Stop(err)
		}
		if errors.Is(err, nixos.ErrGone) {
			return wait.Stop(c.gone(ctx, err))
		}
		return err
	})
	if timeout, ok := errors.AsType[*wait.TimeoutError](err); ok {
		c.Log.In("switch").Warnf("no new login: %v", timeout.Last)
		return fmt.Errorf("%w: %w", nixos.ErrReverted, timeout)
	}
	return err
}

func orNone(toplevel string) string {
	if toplevel == "" {
		return "no system of its profile"
	}
	return toplevel
}

// commit makes the system the one that the machine boots next.
func (c *change) commit(ctx context.Context, d destination) error {
	defer c.Record.Time("commit")()
	err := c.makeDefault(ctx, d)
	if errors.Is(err, nixos.ErrGone) && ctx.Err() == nil {
		return c.gone(ctx, err)
	}
	return err
}

func (c *change) makeDefault(ctx context.Context, d destination) error {
	s, err := nixos.StartCommit(ctx, c.conn, c.fence, d.toplevel, d.generation)
	if err != nil {
		return err
	}
	conn, ended, err := nixos.Follow(ctx, c.conn, c.fence, s, time.Duration(c.keys.Limit), c.Log)
	c.adopt(conn)
	if err != nil {
		return err
	}
	if err := nixos.Collect(ctx, c.conn, c.fence, s, &ended); err != nil {
		return err
	}
	if err := ended.CommitErr(); err != nil {
		return err
	}
	c.Record.Generation = ended.Generation
	c.Log.In("switch").Infof("generation %d is the default at boot", ended.Generation)
	if err := c.relock(ctx); err != nil {
		return err
	}
	return c.mark(ctx)
}

// relock takes the machine's lock again when the connection that held it was
// lost: on the machine that one counts as alive for a while.
func (c *change) relock(ctx context.Context) error {
	select {
	case <-c.lockedBy.Done():
	case <-c.lease.Lost:
	default:
		return nil
	}
	c.lease.Release()
	c.Log.Infof("waiting for the lock that the lost connection held")
	again := wait.For{What: "the machine's lock", Limit: 2 * nixos.LockLease, Interval: time.Second}
	err := again.Until(ctx, func(context.Context) error {
		// By the context of the run: the lock outlives the attempt.
		lease, err := c.lease.Again(ctx, c.conn, c.Program)
		if err == nil {
			c.lease, c.lockedBy = lease, c.conn
			return nil
		}
		if report.CodeOf(err) != report.Busy {
			return wait.Stop(err)
		}
		return err
	})
	if timeout, ok := errors.AsType[*wait.TimeoutError](err); ok {
		return &report.Fault{
			Code: report.Unknown, What: "lock the machine again", Why: timeout,
			Hint: "the switch has ended; the next run looks what became of it",
		}
	}
	return err
}
