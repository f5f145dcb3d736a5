package verdict

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Message IDs of what systemd itself writes to the journal (systemd,
// sd-messages.h).
const (
	unitStarted  = "39f53479d3a045ac8e11786248231fbf"
	unitFailed   = "be02cf6855d2428ba40df7e9d022f03d" // its start job
	unitRestarts = "5eb03494b6584870a536b337290809b3"
	unitEnded    = "7ad2d189f7e94e70a38c781354912448" // well
	unitDied     = "d9b373ed55a64feb8242e02dbe79a49c"
)

// journalScript prints what systemd wrote about units after a cursor of a boot.
// In a later boot that is all of it: a cursor into a journal that is gone leads
// nowhere.
const journalScript = `
journalctl --sync 2>/dev/null
if [ "$2" = "$(cat /proc/sys/kernel/random/boot_id)" ]; then set -- --after-cursor="$1"; else set --; fi
journalctl --quiet --output=json --boot "$@" _PID=1 \
  MESSAGE_ID=` + unitStarted + ` MESSAGE_ID=` + unitFailed + ` MESSAGE_ID=` + unitRestarts + ` MESSAGE_ID=` + unitEnded + ` MESSAGE_ID=` + unitDied

// recent is how far back one look reads of starts and ends.
const recent = 10 * time.Minute

// restartsScript prints which units were started of late, by systemd itself and
// by others, and how they ended.
const restartsScript = `
journalctl --quiet --output=json --output-fields=MESSAGE_ID,UNIT,JOB_TYPE,JOB_RESULT,N_RESTARTS --boot --since=-10min _PID=1 \
  MESSAGE_ID=` + unitStarted + ` MESSAGE_ID=` + unitRestarts + ` MESSAGE_ID=` + unitEnded + ` MESSAGE_ID=` + unitDied

// readJournal gives the events of the present boot, after a sample where that is
// of the same boot.
func readJournal(ctx context.Context, host Host, base Sample) ([]event, error) {
	out, err := host.Output(ctx, journalScript, base.Cursor, base.Boot)
	if err != nil {
		return nil, err
	}
	return parseEvents(string(out)), nil
}

// parseEvents reads entries of the journal, one JSON object a line (systemd,
// "Journal JSON Format"). Lines of other kinds, and entries that were cut off,
// are left out.
func parseEvents(text string) []event {
	var events []event
	for line := range strings.Lines(text) {
		var entry struct {
			ID        string `json:"MESSAGE_ID"`
			Unit      string `json:"UNIT"`
			Monotonic string `json:"__MONOTONIC_TIMESTAMP"`
			JobType   string `json:"JOB_TYPE"`
			Result    string `json:"JOB_RESULT"`
			Restarts  string `json:"N_RESTARTS"`
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Unit == "" || asOurs(entry.Unit) {
			continue
		}
		at, err := strconv.ParseUint(entry.Monotonic, 10, 63)
		if err != nil {
			continue
		}
		e := event{at: microseconds(at), unit: entry.Unit}
		switch entry.ID {
		case unitRestarts:
			if e.restarts, err = strconv.Atoi(entry.Restarts); err != nil || e.restarts < 1 {
				continue
			}
			e.kind = restarted
			events = append(events, e)
		case unitEnded, unitDied:
			e.kind, e.result = ended, "success"
			if entry.ID == unitDied {
				e.result = "exit-code"
			}
			events = append(events, e)
		case unitStarted, unitFailed:
			e.kind, e.result = finished, entry.Result
			events = append(events, e)
			if entry.ID == unitStarted && entry.JobType == "start" && e.result == "done" {
				e.kind, e.result = started, ""
				events = append(events, e)
			}
		}
	}
	return events
}
