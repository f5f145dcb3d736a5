package nixos

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/methods/remote"
)

// Generation is one entry of the system profile.
type Generation struct {
	Number   int
	Toplevel string
	Current  bool      // the profile points to it
	Made     time.Time // when its link was; zero where the machine does not say
}

const generationsScript = `
for link in ` + systemProfile + `-*-link; do
  [ -L "$link" ] && printf '%s %s %s\n' "${link##*/}" "$(readlink "$link")" "$(stat -c %Y "$link")"
done; :`

// Generations lists the machine's system profile, oldest first.
func Generations(ctx context.Context, conn *remote.Conn, m Machine) ([]Generation, error) {
	out, err := output(ctx, conn, "list generations", generationsScript)
	if err != nil {
		return nil, err
	}
	return parseGenerations(string(out), m.Generation), nil
}

func parseGenerations(text string, current int) []Generation {
	var list []Generation
	for line := range strings.Lines(text) {
		link, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		toplevel, made, _ := strings.Cut(rest, " ")
		n := generationOf(link)
		if n <= 0 {
			continue
		}
		g := Generation{Number: n, Toplevel: toplevel, Current: n == current}
		if seconds, err := strconv.ParseInt(made, 10, 64); err == nil {
			g.Made = time.Unix(seconds, 0).UTC()
		}
		list = append(list, g)
	}
	sortGenerations(list)
	return list
}

func sortGenerations(list []Generation) {
	slices.SortFunc(list, func(a, b Generation) int { return cmp.Compare(a.Number, b.Number) })
}
