package nixos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// Effect is what a switch would do to the units of a machine.
type Effect struct {
	Stop, Start, Restart, Reload []string // also "swap on /dev/sda2" and "systemd"
	Skip                         []string // changed, but left alone
	Reboot                       []string // what only a reboot would bring in: "kernel"
}

// dryScript prints what a switch to a system would do, and which parts of it
// only a reboot would bring in.
const dryScript = `
exec </dev/null
"$1"/bin/switch-to-configuration dry-activate 2>&1
code=$?
case $code in
0) ;;
100) echo "reboot=init interface" ;; # as apply finds it, which goes on
*) exit $code ;;
esac
[ -e /run/booted-system ] || exit 0
for part in kernel initrd kernel-modules; do
  [ "$(readlink -f /run/booted-system/$part)" = "$(readlink -f "$1/$part")" ] || echo "reboot=$part"
done; :`

// DryRun asks a system that the machine has what a switch to it would do.
func DryRun(ctx context.Context, conn *remote.Conn, toplevel string) (Effect, error) {
	const what = "ask what the switch would do"
	said := bounded.Buffer{Limit: remote.OutputLimit}
	err := step(ctx, conn, what, checkLimit, remote.Command{Script: dryScript, Args: []string{toplevel}, Stdout: &said})
	if exit, ok := errors.AsType[*remote.ExitError](err); ok {
		if exit.Status == int(lockHeld) && strings.Contains(said.String(), couldNotLock) {
			return Effect{}, busySwitch(what)
		}
		return Effect{}, report.Refuse(what, fmt.Errorf("exit code %d:\n%s", exit.Status, strings.TrimSpace(said.String())), "nothing was changed")
	}
	if err != nil {
		return Effect{}, err
	}
	return parseEffect(said.String()), nil
}

// parseEffect reads the lines of a dry activation (nixpkgs,
// switch-to-configuration-ng): a sentence, a colon, and units set apart by
// commas.
func parseEffect(text string) Effect {
	var e Effect
	for line := range strings.Lines(text) {
		if part, ok := strings.CutPrefix(line, "reboot="); ok {
			if part = strings.TrimSpace(part); part != "" {
				e.Reboot = append(e.Reboot, part)
			}
			continue
		}
		if strings.TrimSpace(line) == "would restart systemd" {
			e.Restart = append(e.Restart, "systemd")
			continue
		}
		if device, ok := strings.CutPrefix(line, "would stop swap device: "); ok {
			e.Stop = append(e.Stop, "swap on "+strings.TrimSpace(device))
			continue
		}
		sentence, units, ok := strings.Cut(line, ": ")
		if !ok {
			continue
		}
		list := map[string]*[]string{
			"would stop the following units":                &e.Stop,
			"would NOT stop the following changed units":    &e.Skip,
			"would NOT restart the following changed units": &e.Skip,
			"would start the following units":               &e.Start,
			"would restart the following units":             &e.Restart,
			"would reload the following units":              &e.Reload,
		}[strings.TrimSpace(sentence)]
		if list == nil {
			continue
		}
		for unit := range strings.SplitSeq(strings.TrimSpace(units), ",") {
			if unit = strings.TrimSpace(unit); unit != "" {
				*list = append(*list, unit)
			}
		}
	}
	return e
}
