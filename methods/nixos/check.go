package nixos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// usageOfOld is what a switch program says that does not know the verb.
var usageOfOld = regexp.MustCompile(`(?im)^usage: .*\bswitch\b`)

// inhibitorsScript prints the switch inhibitors of two systems, one after the
// other; a system from before there were any has none.
const inhibitorsScript = `
for system in /run/current-system "$1"; do
  cat "$system/switch-inhibitors" 2>/dev/null || echo '{}'
done`

// Inhibitors lists what keeps a system from replacing the one that runs without
// a reboot: the names whose value differs in both (nixpkgs,
// system.switch.inhibitors).
func Inhibitors(ctx context.Context, conn *remote.Conn, toplevel string) ([]string, error) {
	out, err := output(ctx, conn, "read the switch inhibitors", inhibitorsScript, toplevel)
	if err != nil {
		return nil, err
	}
	return parseInhibitors(out)
}

func parseInhibitors(text []byte) ([]string, error) {
	var before, after map[string]string
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := errors.Join(decoder.Decode(&before), decoder.Decode(&after)); err != nil {
		return nil, fmt.Errorf("read the switch inhibitors: %w", err)
	}
	var names []string
	for name, value := range after {
		if old, known := before[name]; known && old != value {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Check asks a new system whether it may replace the one that runs: its
// pre-switch checks and inhibitors. A refusal is exit code 4: nothing was
// changed yet. Systems from before the verb "check" have nothing to ask.
func Check(ctx context.Context, conn *remote.Conn, toplevel string, log *report.Log) error {
	var said tail.Tail
	err := step(ctx, conn, "check the new system", checkLimit, remote.Command{
		Script: `exec </dev/null; "$1"/bin/switch-to-configuration check 2>&1`, Args: []string{toplevel}, Stdout: &said,
	})
	var exit *remote.ExitError
	if err == nil || !errors.As(err, &exit) {
		return err
	}
	text := strings.TrimSpace(said.String())
	switch {
	case exit.Status == int(lockHeld) && strings.Contains(text, couldNotLock):
		return busySwitch("check the new system")
	case exit.Status == 126 || exit.Status == 127:
		return report.Refuse("check the new system", fmt.Errorf("its switch program can't be run there: %s", text),
			"was the system built for this machine? nothing was changed")
	case usageOfOld.MatchString(text):
		log.In("check").Infof("the new system is too old to have checks before the switch")
		return nil
	}
	return report.Refuse("check the new system", fmt.Errorf("it refuses to be switched to:\n%s", text),
		"nothing was changed on the machine but the copied closure")
}
