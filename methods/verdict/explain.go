package verdict

import (
	"context"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/journal"
)

// journalLines is how many of a unit's last words a finding repeats.
const journalLines = 10

// invocationScript prints the last lines of one invocation of a unit: what its
// processes wrote, and what systemd said about it.
const invocationScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --output=json --output-fields=MESSAGE --lines="$2" \
  "_SYSTEMD_INVOCATION_ID=$1" + "INVOCATION_ID=$1" _PID=1`

// unitScript prints the last lines of a unit in this boot: of one that is up
// between its restarts, the present invocation has nothing to tell.
const unitScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --output=json --output-fields=MESSAGE --lines="$2" --boot \
  "_SYSTEMD_UNIT=$1" + "UNIT=$1" _PID=1`

// userScript prints the last lines of a unit of a user's manager in this boot.
const userScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --output=json --output-fields=MESSAGE --lines="$3" --boot \
  "_SYSTEMD_USER_UNIT=$1" "_UID=$2" + "USER_UNIT=$1" "_UID=$2"`

// explain adds to each finding what the journal says about it. A journal that
// can't be read takes nothing away from the finding.
func explain(ctx context.Context, host Host, findings []Finding) error {
	within, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("the journal did not answer within %s", lookLimit))
	defer cancel()
	for i, f := range findings {
		if f.Class == Remark || (f.Unit.Invocation == "" && f.Unit.User == "") {
			continue
		}
		lines, most := fmt.Sprint(journalLines), []string{}
		script, args := invocationScript, []string{f.Unit.Invocation, lines}
		switch {
		case f.Unit.User != "":
			script, args = userScript, []string{f.Unit.Name, f.Unit.User, lines}
		case f.Fault == RestartLoop:
			script, args = unitScript, []string{f.Unit.Name, lines}
		}
		out, err := host.Output(within, script, args...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			findings[i].Journal = []string{"its journal can't be read: " + err.Error()}
			continue
		}
		for _, entry := range journal.Parse(string(out)) {
			most = append(most, strings.Split(strings.TrimRight(entry.Message, "\n"), "\n")...)
		}
		findings[i].Journal = most[max(0, len(most)-journalLines):]
	}
	return nil
}

// sumsScript prints a checksum for each file, and a line for each that is not
// there. The file of a user's unit is whatever the user made of it since: a pipe
// that nobody writes to, or one without an end.
const sumsScript = `
for file; do
  if [ -f "$file" ]; then timeout 5 head -c 1048576 -- "$file" 2>/dev/null | cksum 2>/dev/null || echo none; else echo none; fi
done`

// texts gives checksums of the texts of units: whether a unit is the same as
// before.
func texts(ctx context.Context, host Host, units []Unit) (map[key]string, error) {
	var files []string
	for _, u := range units {
		files = append(files, u.Files...)
	}
	sums := map[key]string{}
	if len(files) == 0 {
		return sums, nil
	}
	out, err := host.Output(ctx, sumsScript, files...)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != len(files) {
		return nil, fmt.Errorf("%d checksums of %d files", len(lines), len(files))
	}
	for _, u := range units {
		sums[u.key()] = strings.Join(lines[:len(u.Files)], "\n")
		lines = lines[len(u.Files):]
	}
	return sums, nil
}
