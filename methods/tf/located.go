package tf

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/targets/task"
)

// located is a way that records where it found the machine, for what follows it in
// a combined run: each verb that looks for the machine tells, be it that nothing is
// changed.
type located struct{ deploy.Way }

// Find is the way's, with the addresses recorded.
func (l located) Find(ctx context.Context, run *task.Run) (deploy.Reached, error) {
	reached, err := l.Way.Find(ctx, run)
	return reached, l.note(run, reached, err)
}

// Up is the same.
func (l located) Up(ctx context.Context, run *task.Run) (deploy.Reached, error) {
	reached, err := l.Way.Up(ctx, run)
	return reached, l.note(run, reached, err)
}

// note records the address that the machine is reached at first, where it is none
// by name, and then the others that are known of it; or that it is not there.
func (located) note(run *task.Run, reached deploy.Reached, err error) error {
	run.Record.Awaited = errors.Is(err, deploy.ErrNotThere)
	if err != nil {
		return err
	}
	var all []string
	for _, text := range append([]string{reached.Target.Host}, reached.Addresses...) {
		if _, err := netip.ParseAddr(text); err == nil && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	run.Record.Addresses = all
	return nil
}
