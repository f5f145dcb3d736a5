package nixos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// Generation is one entry of the system profile.
type Generation struct {
	Number   int
	Toplevel string
	Current  bool // the profile points to it
}

const generationsScript = `
for link in ` + systemProfile + `-*-link; do
  [ -L "$link" ] && printf '%s %s\n' "${link##*/}" "$(readlink "$link")"
done; :`

// Generations lists the machine's system profile, oldest first.
func Generations(ctx context.Context, conn *remote.Conn, m Machine) ([]Generation, error) {
	out, err := output(ctx, conn, "list generations", lookLimit, generationsScript)
	if err != nil {
		return nil, err
	}
	return parseGenerations(string(out), m.Generation), nil
}

func parseGenerations(text string, current int) []Generation {
	var list []Generation
	for line := range strings.Lines(text) {
		link, toplevel, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n := generationOf(link); n > 0 {
			list = append(list, Generation{Number: n, Toplevel: toplevel, Current: n == current})
		}
	}
	sortGenerations(list)
	return list
}

// setScript points the profile at a toplevel and prints its generation. Setting
// it to what it points to already makes no new generation.
const setScript = `nix-env --profile ` + systemProfile + ` --set "$1" >&2 && readlink ` + systemProfile

// SetProfile makes a toplevel the machine's system at its next boot, and
// returns the number of its generation.
func SetProfile(ctx context.Context, conn *remote.Conn, toplevel string) (int, error) {
	return profile(ctx, conn, "set the system profile", setScript, toplevel)
}

const restoreScript = `nix-env --profile ` + systemProfile + ` --switch-generation "$1" >&2 && readlink ` + systemProfile

// RestoreProfile points the profile back at a generation, by its number: what
// "the one before" means depends on what others did.
func RestoreProfile(ctx context.Context, conn *remote.Conn, generation int) error {
	_, err := profile(ctx, conn, "restore the system profile", restoreScript, strconv.Itoa(generation))
	return err
}

func profile(ctx context.Context, conn *remote.Conn, what, script, arg string) (int, error) {
	var out, said tail.Tail
	err := step(ctx, conn, what, stepLimit, remote.Command{Script: script, Args: []string{arg}, Stdout: &out, Stderr: &said})
	if _, ok := errors.AsType[*remote.ExitError](err); ok {
		return 0, report.Fail(what, errors.New(lastError(said.String())), "the running system was not changed")
	}
	if err != nil {
		return 0, err
	}
	n := generationOf(strings.TrimSpace(out.String()))
	if n == 0 {
		return 0, report.Fail(what, fmt.Errorf("the profile points to %q afterwards", strings.TrimSpace(out.String())), "")
	}
	return n, nil
}

func sortGenerations(list []Generation) {
	slices.SortFunc(list, func(a, b Generation) int { return cmp.Compare(a.Number, b.Number) })
}
