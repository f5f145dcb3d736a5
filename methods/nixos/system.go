package nixos

import (
	"context"
	"fmt"

	"fediversity.eu/slipway/methods"
)

// SystemTask builds the system of a machine and prints its store path.
type SystemTask struct{ *Blueprint }

// Run builds and prints; it touches no machine.
func (t SystemTask) Run(ctx context.Context, run *methods.Run) error {
	built, err := t.Build(ctx, run)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(run.Out, built.Toplevel)
	return err
}
