package nixos

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// Build builds an evaluated system and returns its toplevel, a store path with
// a root against garbage collection. What is built already costs nothing.
func (t *Tool) Build(ctx context.Context, e Evaluation) (string, error) {
	link := filepath.Join(e.dir, "toplevel")
	if toplevel, ok := rooted(link); ok {
		return toplevel, nil
	}
	_, err := t.stream(ctx, t.log.In("build"), "nix-store", "--realise", e.Derivation, "--add-root", link, "--indirect")
	if err != nil {
		return "", buildError(ctx, err)
	}
	toplevel, ok := rooted(link)
	if !ok {
		return "", fmt.Errorf("build %s: nix made no toplevel", e.Derivation)
	}
	return toplevel, nil
}

// buildFailure is what failed first: the errors after it are of derivations that
// needed it.
func buildFailure(stderr string) string {
	lines := strings.Split(stderr, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "error: builder for ") || strings.HasPrefix(line, "error: Cannot build ") {
			end := i + 1
			for end < len(lines) && !strings.HasPrefix(lines[end], "error:") {
				end++
			}
			return lastError(strings.Join(lines[i:end], "\n"))
		}
	}
	return lastError(stderr)
}

func buildError(ctx context.Context, err error) error {
	var failure *child.Error
	if ctx.Err() != nil || !errors.As(err, &failure) {
		return err
	}
	if failure.Killed() {
		return killedError("build the system", err)
	}
	hint := "nix-store --read-log DERIVATION shows the whole log; nothing was changed on any machine"
	if strings.Contains(failure.Said, "No space left on device") {
		hint = "the disk of this host is full: nix-collect-garbage frees what nothing uses"
	}
	return report.Refuse("build the system", errors.New(buildFailure(failure.Said)), hint)
}
