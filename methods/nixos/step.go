package nixos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// How long single steps on a machine may take. A keep-alive notices a network
// that is gone; these notice a machine that hangs.
const (
	lookLimit  = time.Minute      // one look at something
	stepLimit  = 2 * time.Minute  // one short change
	checkLimit = 5 * time.Minute  // pre-switch checks, which are the machine's own
	storeLimit = 10 * time.Minute // a walk over the store
)

// step runs one command as root within a limit. A step that took too long is an
// error that says which; whether it took effect is not known then.
func step(ctx context.Context, conn *remote.Conn, what string, limit time.Duration, cmd remote.Command) error {
	cmd.Root = true
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no end after %s", limit))
	defer cancel()
	err := conn.Run(within, cmd)
	var exit *remote.ExitError
	if err == nil || errors.As(err, &exit) && within.Err() == nil {
		return err
	}
	if within.Err() != nil && ctx.Err() == nil {
		return &report.Fault{
			Code: report.Unknown, What: what, Why: err,
			Hint: "the machine can be reached, but does not get on: look at its load and at its console",
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// output runs a script that looks at something as root, and returns what it printed.
func output(ctx context.Context, conn *remote.Conn, what, script string, args ...string) ([]byte, error) {
	out := bounded.Buffer{Limit: remote.OutputLimit}
	err := step(ctx, conn, what, lookLimit, remote.Command{Script: script, Args: args, Stdout: &out})
	return out.Bytes(), err
}
