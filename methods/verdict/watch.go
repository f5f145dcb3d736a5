package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/journal"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/report"
)

// Host runs a script on the machine that is judged.
type Host interface {
	Output(ctx context.Context, script string, args ...string) ([]byte, error)
}

// Window says how long to look.
type Window struct {
	Calm  time.Duration // how long a changed machine must stay settled; 0 means one look
	Limit time.Duration // how long it may take to settle
}

// CalmAfterSwitch is how long a machine that was switched must stay settled
// before it counts as healthy: what can't start at all shows within two
// seconds.
const CalmAfterSwitch = 2 * time.Second

// lookLimit bounds one look; a machine that does not answer for so long is out
// of contact.
const lookLimit = 30 * time.Second

// Watch looks at a machine until it is settled, or until the window's limit,
// and judges it. A look that fails is not a finding and not health: its error
// has exit code 5.
func Watch(ctx context.Context, host Host, w Window, log *report.Log) (Verdict, error) {
	var first, last Sample
	var calmSince time.Time
	told := ""
	waiting := wait.For{What: "the units to settle", Limit: w.Limit, Try: lookLimit, Interval: 500 * time.Millisecond}
	err := waiting.Until(ctx, func(ctx context.Context) error {
		sample, err := look(ctx, host)
		if err != nil {
			return wait.Stop(err)
		}
		if len(first.Units) == 0 {
			first = sample
		}
		last = sample
		_, settled := judge(sample)
		if !settled {
			calmSince = time.Time{}
			if names := startingNames(sample); names != told {
				told = names
				log.Infof("waiting for %s", names)
			}
			return errors.New("units are still starting")
		}
		if calmSince.IsZero() {
			calmSince = time.Now()
		}
		if time.Since(calmSince) < w.Calm {
			return errors.New("they have just settled")
		}
		return nil
	})
	var timeout *wait.TimeoutError
	if err != nil && !errors.As(err, &timeout) {
		return Verdict{}, unknown(ctx, err)
	}
	v := Verdict{Units: len(last.Units)}
	v.Findings, _ = judge(last)
	v.Findings = join(v.Findings, looping(first, last))
	if timeout != nil {
		v.Findings = join(v.Findings, stuck(last))
	}
	return v, explain(ctx, host, v.Findings)
}

func startingNames(s Sample) string {
	var names []string
	for _, f := range stuck(s) {
		names = append(names, f.Unit.Name)
	}
	return strings.Join(names, ", ")
}

func look(ctx context.Context, host Host) (Sample, error) {
	out, err := host.Output(ctx, sampleScript)
	if err != nil {
		return Sample{}, err
	}
	return parseSample(string(out))
}

func unknown(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	return &report.Fault{
		Code: report.Unknown, What: "look at the units", Why: err,
		Hint: "whether the machine is healthy is not known; verify looks again",
	}
}

// journalLines is how many of a unit's last words a finding repeats.
const journalLines = 10

// journalScript prints the last lines of one invocation of a unit: what its
// processes wrote, and what systemd said about it.
const journalScript = `
journalctl --sync 2>/dev/null
journalctl --quiet --output=json --output-fields=MESSAGE --lines="$2" \
  "_SYSTEMD_INVOCATION_ID=$1" + "INVOCATION_ID=$1" _PID=1`

// explain adds to each finding what the journal says about it. A journal that
// can't be read takes nothing away from the finding.
func explain(ctx context.Context, host Host, findings []Finding) error {
	within, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	for i, f := range findings {
		if f.Unit.Invocation == "" {
			continue
		}
		out, err := host.Output(within, journalScript, f.Unit.Invocation, fmt.Sprint(journalLines))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			findings[i].Journal = []string{"its journal can't be read: " + err.Error()}
			continue
		}
		for _, entry := range journal.Parse(string(out)) {
			findings[i].Journal = append(findings[i].Journal, entry.Message)
		}
	}
	return nil
}
