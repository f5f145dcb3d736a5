package tf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"fediversity.eu/slipway/methods/deploy"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// work is what the provider does in one run. OpenTofu stands between it and the
// program and knows only text, so errors are kept here with their exit codes.
type work struct {
	run    *task.Run
	reach  deploy.Reach
	booted *deploy.Booted // nil for a machine that is there, or is made
	made   bool           // other resources make the machine
	built  nixos.Built
	keys   deploy.ChangeKeys
	verb   string
	within func(context.Context) (context.Context, context.CancelFunc)

	mu      sync.Mutex
	failed  error
	hidden  bool // OpenTofu was not told of failed
	brought bool // the machine was deployed to, and judged
	ended   bool // the machine that Slipway booted is gone
}

// joined makes contexts of calls that end with the run's as well, for its reason.
func joined(run context.Context) func(context.Context) (context.Context, context.CancelFunc) {
	return func(call context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(run)
		stop := context.AfterFunc(call, func() { cancel(context.Cause(call)) })
		return ctx, func() { stop(); cancel(nil) }
	}
}

// id names the machine in every state.
func (w *work) id() string {
	return w.reach.Deployment.Group.Name + "-" + w.reach.Deployment.Machine.Name
}

// ours refuses a machine that is another deployment's.
func (w *work) ours(id string) error {
	if id == w.id() {
		return nil
	}
	return w.fail(report.Refuse("use the state", fmt.Errorf("it is the state of %s, and this program deploys %s", id, w.id()),
		"nothing was changed; TF_HTTP_ADDRESS must be the address of this deployment's own state"))
}

// fail keeps an error that OpenTofu is told.
func (w *work) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed, w.hidden = err, false
	return err
}

// bring deploys, and tells whether the machine is in the state's care from now on.
// A machine that was changed is, however that ended: OpenTofu is not told of the
// error then, since it would have the machine made anew by the next run.
func (w *work) bring(ctx context.Context) (deploy.Reached, bool, error) {
	ctx, stop := w.within(ctx)
	defer stop()
	reached, err := deploy.To(ctx, w.run, w.reach, w.built, w.keys)
	w.mu.Lock()
	defer w.mu.Unlock()
	code := report.CodeOf(err)
	there := err == nil || w.run.Record.Changed || code == report.Unhealthy || code == report.RebootNeeded ||
		w.finds() && reached.Target.Host != ""
	w.failed, w.hidden, w.brought = err, err != nil && there, true
	return reached, there, err
}

// look finds what runs on the machine.
func (w *work) look(ctx context.Context) (deploy.Seen, error) {
	ctx, stop := w.within(ctx)
	defer stop()
	seen, err := deploy.Look(ctx, w.run, w.reach, w.keys.Owner)
	if err != nil && (w.verb == tofu.Import || !errors.Is(err, deploy.ErrNotThere)) {
		return seen, w.fail(err)
	}
	return seen, err
}

// preview prints what apply would do to a machine that is there.
func (w *work) preview(ctx context.Context) error {
	if _, err := fmt.Fprintln(w.run.Out); err != nil {
		return err
	}
	changes, err := deploy.Preview(ctx, w.run, w.reach, w.built, w.keys.Owner, w.keys.Copy)
	switch {
	case errors.Is(err, deploy.ErrNotThere):
		_, err = fmt.Fprintf(w.run.Out, "the machine would be booted, and then brought to %s\n", w.built.Toplevel)
	case err == nil && !changes:
		_, err = fmt.Fprintf(w.run.Out, "%s runs already, and would be judged again\n", w.built.Toplevel)
	}
	return err
}

// down ends a machine that Slipway booted; any other stays as it is.
func (w *work) down(ctx context.Context) error {
	if w.made {
		return nil // the resources that made it follow
	}
	if w.booted == nil {
		w.run.Log.Infof("the machine stays as it is, and is in no state any more")
		return nil
	}
	if w.ended {
		return nil
	}
	ctx, stop := w.within(ctx)
	defer stop()
	if err := w.booted.Down(ctx, w.run); err != nil {
		return w.fail(err)
	}
	w.ended, w.run.Record.Changed = true, true
	w.run.Log.Infof("%s is gone", w.reach.Deployment.Machine.Name)
	return nil
}

// finds tells whether where the machine is shows only once it is there; the
// coordinates say it otherwise.
func (w *work) finds() bool { return w.made || w.booted != nil }

// prefer gives the error of a run: what the provider met, rather than OpenTofu's
// words for it, and beside it what went wrong with the state.
func (w *work) prefer(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil || err != nil && err.Error() == w.failed.Error() {
		return err
	}
	if w.hidden {
		return errors.Join(err, w.failed)
	}
	if _, ok := errors.AsType[*report.Fault](err); ok {
		return errors.Join(err, w.failed)
	}
	return w.failed
}

// finish ends an apply that went well: a machine on which there was nothing to do
// is judged all the same.
func (w *work) finish(ctx context.Context) error {
	if !w.brought {
		w.run.Log.Infof("nothing changed: %s runs already", w.built.Toplevel)
		if err := deploy.Judge(ctx, w.run, w.reach, w.keys.Verdict); err != nil {
			return err
		}
	}
	reached, err := w.reach.Way.Find(ctx, w.run)
	if err != nil {
		return err
	}
	if reached.URL == "" {
		return nil
	}
	_, err = fmt.Fprintln(w.run.Out, reached.URL)
	return err
}

// mends tells whether apply has something to do about a machine that runs what it
// ought to.
func (w *work) mends(verdict string) bool {
	switch verdict {
	case report.Healthy.String():
		return false
	case report.RebootNeeded.String():
		return w.keys.Switch.Reboots()
	}
	return true
}

// addressOf writes where a machine is: "root@192.0.2.7:22".
func addressOf(t remote.Target) string {
	return t.User + "@" + net.JoinHostPort(t.Host, strconv.Itoa(t.Port))
}
