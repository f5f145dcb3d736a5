package ssh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/verdict"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// apply deploys a machine: build, copy, check, set the profile, switch, judge.
type apply struct {
	reach     *reach
	blueprint *nixos.Blueprint
	deploy    DeployKeys
	verdict   VerdictKeys
	release   func() // of the machine's lock
}

func (a *apply) Coordinates() []any {
	return append(append(a.reach.coordinates(), a.blueprint.Coordinates()...), &a.deploy, &a.verdict)
}

// Check looks at the coordinates before anything starts.
func (a *apply) Check(environment env.Environment) error {
	return errors.Join(a.reach.check(), a.blueprint.Check(environment), a.verdict.check())
}

func (a *apply) Run(ctx context.Context, run *methods.Run) error {
	err := a.run(ctx, run)
	return classify(err, run.Record.Changed)
}

func (a *apply) run(ctx context.Context, run *methods.Run) error {
	built, err := a.blueprint.Build(ctx, run)
	if err != nil {
		return err
	}
	conn, reached, err := a.reach.up(ctx, run)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	a.release, err = nixos.Lock(ctx, conn, run.Program)
	if err != nil {
		// What can't be locked may be no NixOS at all, which says more.
		if _, refused := a.reach.inspect(ctx, conn); report.CodeOf(refused) == report.Refused {
			return refused
		}
		return err
	}
	defer func() { a.release() }()
	conn, machine, err := a.settled(ctx, conn, run.Log)
	if err != nil {
		return err
	}
	options := a.verdict.options(a.reach.deployment.Machine, built.Toplevel)
	var watch *verdict.Watch
	if machine.Current == built.Toplevel && machine.Profile == built.Toplevel && machine.Pending == "" {
		run.Log.Infof("nothing changed: %s runs already", built.Toplevel)
		run.Record.Generation = machine.Generation
	} else {
		if watch, err = verdict.Observe(ctx, judged(conn), run.Log.In("verdict")); err != nil {
			return err
		}
		defer watch.Close()
		var ended nixos.Switched
		if conn, ended, err = a.replace(ctx, run, conn, machine, built); err != nil {
			return err
		}
		options.Switch = int(ended.Code)
		holder := conn // of the lock
		if conn, err = confirm(ctx, holder, machine); err != nil {
			return err
		}
		defer func() { _ = holder.Close() }()
	}
	if err := judge(ctx, conn, run, watch, options); err != nil {
		return err
	}
	if reached.URL != "" {
		_, err = fmt.Fprintln(run.Out, reached.URL)
	}
	return err
}

// settled inspects the machine when no switch of an earlier run is left on it.
// One that still runs is not disturbed but waited for; one that ended is
// reported and collected. It returns the connection that is good afterwards.
func (a *apply) settled(ctx context.Context, conn *remote.Conn, log *report.Log) (*remote.Conn, nixos.Machine, error) {
	machine, err := a.reach.inspect(ctx, conn)
	if err != nil || len(machine.Switching) == 0 {
		return conn, machine, err
	}
	for _, unit := range machine.Switching {
		log.Warnf("an earlier run left the switch %s behind; waiting for its end", unit)
		var ended nixos.Switched
		if conn, ended, err = nixos.Follow(ctx, conn, unit, time.Duration(a.deploy.Switch), log); err != nil {
			return conn, machine, err
		}
		if err := nixos.Collect(ctx, conn, unit, &ended); err != nil {
			return conn, machine, err
		}
		log.Warnf("it ended with exit code %d (%s); %s runs", ended.Code, ended.Result, ended.Current)
	}
	machine, err = a.reach.inspect(ctx, conn)
	return conn, machine, err
}

// replace makes the built system the machine's system. It returns the
// connection that is good afterwards.
func (a *apply) replace(ctx context.Context, run *methods.Run, conn *remote.Conn, machine nixos.Machine, built nixos.Built) (*remote.Conn, nixos.Switched, error) {
	log, none := run.Log, nixos.Switched{}
	closure, err := built.Tool.Closure(ctx, built.Toplevel)
	if err != nil {
		return conn, none, err
	}
	done := run.Record.Time("copy")
	copied, err := built.Tool.Copy(ctx, conn, machine, closure, nixos.CopyOptions{Substitute: bool(a.deploy.Substitute)})
	done()
	if err != nil {
		return conn, none, err
	}
	run.Record.Copied = &report.Copied{Paths: copied.Paths, Bytes: copied.Bytes}
	if err := nixos.Check(ctx, conn, built.Toplevel, log); err != nil {
		return conn, none, err
	}
	run.Record.Changed = true
	generation, err := nixos.SetProfile(ctx, conn, built.Toplevel)
	if err != nil {
		return conn, none, err
	}
	run.Record.Generation = generation
	log.In("switch").Infof("generation %d, %s", generation, built.Toplevel)
	done = run.Record.Time("switch")
	conn, ended, err := a.toNew(ctx, run, conn, built.Toplevel)
	done()
	if _, ok := errors.AsType[*nixos.NotStartedError](err); ok {
		return conn, ended, restore(ctx, conn, machine, report.Fail("start the switch", err, "the running system was not changed"), log)
	}
	if err != nil {
		return conn, ended, err
	}
	code := int(ended.Code)
	run.Record.Switch = &code
	if err := ended.Err(built.Toplevel); err != nil {
		if ended.Untouched(built.Toplevel) {
			err = restore(ctx, conn, machine, err, log)
		}
		return conn, ended, err
	}
	return conn, ended, nil
}

// toNew starts the switch, follows it to its end and collects it.
func (a *apply) toNew(ctx context.Context, run *methods.Run, conn *remote.Conn, toplevel string) (*remote.Conn, nixos.Switched, error) {
	unit, err := nixos.StartSwitch(ctx, conn, toplevel)
	if err != nil {
		return conn, nixos.Switched{}, err
	}
	now, ended, err := nixos.Follow(ctx, conn, unit, time.Duration(a.deploy.Switch), run.Log)
	if err == nil && now != conn {
		err = a.relock(ctx, run, now)
	}
	if err != nil {
		return now, ended, err
	}
	return now, ended, nixos.Collect(ctx, now, unit, &ended)
}

// relock takes the machine's lock again when the connection that held it was
// lost: on the machine that one counts as alive for a while.
func (a *apply) relock(ctx context.Context, run *methods.Run, conn *remote.Conn) error {
	a.release()
	a.release = func() {}
	run.Log.Infof("waiting for the lock that the lost connection held")
	again := wait.For{What: "the machine's lock", Limit: 2 * nixos.LockLease, Interval: time.Second}
	err := again.Until(ctx, func(context.Context) error {
		// By the context of the run: the lock outlives the attempt.
		release, err := nixos.Lock(ctx, conn, run.Program)
		if err == nil {
			a.release = release
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

// restore takes the profile back to the system that runs when the switch left
// that one alone: what never ran must not run at the next boot. It returns why,
// unless it fails itself, which is the graver thing.
func restore(ctx context.Context, conn *remote.Conn, machine nixos.Machine, why error, log *report.Log) error {
	list, err := nixos.Generations(ctx, conn, machine)
	if err == nil {
		for _, generation := range list {
			if generation.Toplevel != machine.Current {
				continue
			}
			if err = nixos.RestoreProfile(ctx, conn, generation.Number); err == nil {
				log.Infof("the system profile is back at generation %d", generation.Number)
				return why
			}
			break
		}
		if err == nil {
			err = fmt.Errorf("no generation is the running system %s", machine.Current)
		}
	}
	return report.Fail("restore the system profile", fmt.Errorf("%w; that was to be done because of: %w", err, why),
		"the machine would boot into a system that never ran: look at nix-env -p /nix/var/nix/profiles/system --list-generations there")
}

// confirm logs in anew: a system that nobody can log in to any more is not
// healthy, however well its units are.
func confirm(ctx context.Context, conn *remote.Conn, before nixos.Machine) (*remote.Conn, error) {
	again, err := conn.Reconnect(ctx)
	if ctx.Err() != nil {
		return conn, context.Cause(ctx)
	}
	if err != nil {
		return conn, &report.Fault{
			Code: report.Unhealthy, What: "log in to the new system", Why: err,
			Hint: fmt.Sprintf("the machine runs, but lets this run in no more; on its console, go back to generation %d", before.Generation),
		}
	}
	return again, nil
}
