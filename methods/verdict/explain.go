package verdict

import (
	"context"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/journal"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/internal/tail"
)

// journalLines is how many of a unit's last words a finding repeats.
const journalLines = 10

// unitScript prints the last lines of a unit in this boot: what its processes wrote,
// and what systemd said about it. All of a message, however long: without --all what
// is longer than 4096 bytes is left out (journalctl(1)).
const unitScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID --lines=100 --boot \
  "_SYSTEMD_UNIT=$1" + "UNIT=$1" _PID=1`

// insideScript prints the last lines of a unit of a container in this boot of it. Its
// journal daemon can't be told to write what it has.
const insideScript = `
timeout 10 journalctl --machine="$2" --quiet --all --output=json --output-fields=MESSAGE,_SYSTEMD_INVOCATION_ID,INVOCATION_ID --lines=100 --boot \
  "_SYSTEMD_UNIT=$1" + "UNIT=$1" _PID=1`

// userScript prints the last lines of a unit of a user's manager in this boot.
const userScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --all --output=json --output-fields=MESSAGE --lines=100 --boot \
  "_SYSTEMD_USER_UNIT=$1" "_UID=$2" + "USER_UNIT=$1" "_UID=$2"`

// explain adds to each finding what the journal says about it. A journal that
// can't be read takes nothing away from the finding.
func explain(ctx context.Context, host Host, findings []Finding) error {
	within, cancel := context.WithTimeoutCause(ctx, lookLimit, fmt.Errorf("the journal did not answer within %s", lookLimit))
	defer cancel()
	for i, f := range findings {
		if f.Class == Remark {
			continue
		}
		script, args := unitScript, []string{f.Unit.Name}
		switch {
		case f.Unit.User != "":
			script, args = userScript, []string{f.Unit.Name, f.Unit.User}
		case f.Unit.Container != "":
			script, args = insideScript, []string{f.Unit.Name, f.Unit.Container}
		}
		out, err := host.Output(within, script, args...)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			findings[i].Journal = []string{"its journal can't be read: " + err.Error()}
			continue
		}
		entries := journal.Parse(string(out))
		if f.Unit.User == "" && f.Unit.Invocation != "" && f.Fault != RestartLoop {
			entries = ofInvocation(entries, f.Unit.Invocation)
		}
		findings[i].Journal = lastWords(entries)
	}
	return nil
}

// ofInvocation gives the entries of one invocation of a unit. Of a process that has
// ended already journald may not know which it was of (systemd,
// journald-context.c): what stands next to its entries counts as one of them.
func ofInvocation(entries []journal.Entry, id string) []journal.Entry {
	var kept []journal.Entry
	seen, open := false, true
	for _, e := range entries {
		switch {
		case e.Invocation == id:
			seen, open = true, true
			kept = append(kept, e)
		case e.Invocation == "" && open:
			kept = append(kept, e)
		case e.Invocation != "" && !seen:
			kept = nil
		case e.Invocation != "":
			open = false
		}
	}
	return kept
}

// lastWords are the last lines of entries, and those before that name an error, fit
// to be shown.
func lastWords(entries []journal.Entry) []string {
	var lines []string
	for _, e := range entries {
		for line := range strings.SplitSeq(strings.TrimRight(plaintext.Lines(e.Message), "\n"), "\n") {
			lines = append(lines, plaintext.Cut(line, plaintext.LineLimit))
		}
	}
	return tail.Last(lines, journalLines)
}

// sumsScript prints a checksum for each pair of a root folder and a file below it,
// and a line for each that is not there. Links are followed as what has that root
// follows them. The file of a user's unit is whatever the user made of it since: a pipe
// that nobody writes to, or one without an end.
const sumsScript = `
below() {
  at= rest=$2/ links=0
  while [ -n "$rest" ]; do
    part=${rest%%/*} rest=${rest#*/}
    case $part in
    '' | .) ;;
    ..) at=${at%/*} ;;
    *)
      if [ -L "$1$at/$part" ] && [ $links -lt 40 ]; then
        links=$((links + 1)) link=$(readlink "$1$at/$part")
        case $link in /*) at= ;; esac
        rest=$link/$rest
      else
        at=$at/$part
      fi
      ;;
    esac
  done
  file=$1$at
}
while [ $# -gt 1 ]; do
  file=$2
  [ -z "$1" ] || below "$1" "$2"
  if [ -f "$file" ]; then timeout 5 head -c 1048576 -- "$file" 2>/dev/null | cksum 2>/dev/null || echo none; else echo none; fi
  shift 2
done`

// texts gives checksums of the texts that units have in a sample: whether a unit is
// the same as before.
func texts(ctx context.Context, host Host, s Sample, units []Unit) (map[key]string, error) {
	var files []string
	for _, u := range units {
		for _, file := range u.Files {
			files = append(files, s.root(u), file)
		}
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
	if len(lines) != len(files)/2 {
		return nil, fmt.Errorf("%d checksums of %d files", len(lines), len(files)/2)
	}
	for _, u := range units {
		sums[u.key()] = strings.Join(lines[:len(u.Files)], "\n")
		lines = lines[len(u.Files):]
	}
	return sums, nil
}
