package nixos

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"fediversity.eu/slipway/methods/remote"
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

func sortGenerations(list []Generation) {
	slices.SortFunc(list, func(a, b Generation) int { return cmp.Compare(a.Number, b.Number) })
}
