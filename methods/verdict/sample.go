package verdict

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/wait"
)

// sampleScript prints blocks of KEY=VALUE lines with empty lines between them:
// one of the machine, then one a unit. A block of User or Container begins the
// units of the manager of that user or container.
//
//go:embed sample.sh
var sampleScript string

// look takes a sample.
func look(ctx context.Context, host Host) (Sample, error) {
	var s Sample
	// systemctl fails while its manager is being replaced (systemctl daemon-reexec).
	w := wait.For{What: "systemd to answer", Limit: replacedLimit, Interval: replacedLimit / 20}
	err := w.Until(ctx, func(context.Context) error {
		out, err := host.Output(ctx, sampleScript)
		if errors.Is(err, ErrContact) {
			return wait.Stop(err)
		}
		if err == nil {
			s, err = parseSample(string(out))
		}
		return err
	})
	if late, ok := errors.AsType[*wait.TimeoutError](err); ok {
		err = late.Last
	}
	return s, err
}

// replacedLimit is how long systemd may take to be replaced.
const replacedLimit = 10 * time.Second

// errNoUnits is a sample without a single unit, which no machine has.
var errNoUnits = errors.New("systemctl named no unit")

// parseSample reads what sampleScript prints. A sample that can't be read, or
// that has no unit, is an error and never an empty machine. What the manager of a
// user or a container prints tells of its own units and of nothing else, and where
// it makes no sense, that manager is not looked at.
func parseSample(text string) (Sample, error) {
	s := Sample{Refused: map[string]string{}, Containers: map[string]Container{}}
	known := map[key]bool{}
	var of Unit // whose manager is the present one
	ended := false
	for block := range strings.SplitSeq(text, "\n\n") {
		p := pairs(block)
		ended = ended && len(p) == 0
		switch {
		case p["Id"] != "":
			unit, err := unitOf(p)
			unit.User, unit.Container = of.User, of.Container
			switch {
			case err != nil && of.ofMachine():
				return Sample{}, err
			case err != nil:
				s.refuse(of, err.Error())
			case !unit.ours() && !known[unit.key()]: // the default target is named twice
				known[unit.key()] = true
				s.Units = append(s.Units, unit)
			}
		case p["Boot"] != "" && of.ofMachine():
			if err := s.header(p); err != nil {
				return Sample{}, err
			}
		case p["User"] != "":
			of = Unit{User: p["User"]}
			s.refuse(of, p["Refused"])
		case p["Container"] != "":
			of = Unit{Container: p["Container"]}
			s.Containers[of.Container] = Container{Unit: p["Unit"], Leader: p["Leader"]}
			s.refuse(of, p["Refused"])
		case p["End"] != "":
			ended = true
		}
	}
	s.Units = slices.DeleteFunc(s.Units, func(u Unit) bool {
		return u.User != "" && s.Refused[u.User] != "" || u.Container != "" && s.Containers[u.Container].Refused != ""
	})
	switch {
	case !slices.ContainsFunc(s.Units, Unit.ofMachine):
		return Sample{}, errNoUnits
	case s.Boot == "":
		return Sample{}, errors.New("the machine did not name its boot")
	case !ended:
		return Sample{}, errors.New("the answer of the machine was cut off")
	}
	return s, nil
}

// refuse notes why a manager, told by one of its units, can't be looked at.
func (s *Sample) refuse(of Unit, why string) {
	switch {
	case why == "":
	case of.User != "":
		s.Refused[of.User] = why
	default:
		c := s.Containers[of.Container]
		c.Refused = why
		s.Containers[of.Container] = c
	}
}

func pairs(block string) map[string]string {
	p := map[string]string{}
	for line := range strings.Lines(block) {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
			if had := p[name]; had != "" && name == "TimersMonotonic" { // a line for each base
				value = had + " " + value
			}
			p[name] = value
		}
	}
	return p
}

// header reads the block of the machine. The kernel's own clock is the one that
// systemd writes moments by; /proc/uptime, which also counts the time that a
// machine was suspended, stands in for it where that can't be read.
func (s *Sample) header(p map[string]string) error {
	s.Boot, s.System, s.Cursor = p["Boot"], p["System"], strings.TrimPrefix(p["Cursor"], "-- cursor: ")
	nanoseconds, err := strconv.ParseInt(p["Now"], 10, 64)
	if err != nil {
		seconds, err := strconv.ParseFloat(p["Uptime"], 64)
		if err != nil || !(seconds > 0 && seconds < 1e9) {
			return fmt.Errorf("uptime %q is none", p["Uptime"])
		}
		nanoseconds = int64(seconds * float64(time.Second))
	}
	s.Now = time.Duration(nanoseconds)
	clock, err := strconv.ParseFloat(p["Clock"], 64)
	if err != nil || s.Now <= 0 || !(clock > -1e12 && clock < 1e12) {
		return fmt.Errorf("clock %q at %s is none", p["Clock"], s.Now)
	}
	s.Clock = time.Unix(int64(clock), 0)
	at, _ := strconv.ParseFloat(p["Activated"], 64) // not every stat(1) tells it
	s.Activated, s.Ran = activated(s.Now, clock, at), marks(p["Ran"])
	return nil
}

// states are the values of ActiveState (systemd, unit_active_state_table).
var states = []string{
	"active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance", "refreshing",
}

func unitOf(p map[string]string) (Unit, error) {
	u := Unit{
		Name: p["Id"], Load: p["LoadState"], LoadError: loadError(p["LoadError"]), Active: p["ActiveState"], Sub: p["SubState"],
		Result: p["Result"], Reload: p["ReloadResult"], Type: p["Type"], Restart: p["Restart"], Remains: p["RemainAfterExit"] == "yes",
		Invocation: p["InvocationID"], Job: p["Job"] != "" && p["Job"] != "0",
		Requires: names(p, "Requires", "BindsTo", "Requisite"), RequiredBy: names(p, "RequiredBy", "BoundBy", "RequisiteOf"),
		WantedBy: names(p, "WantedBy", "UpheldBy"), Conflicts: names(p, "Conflicts", "ConflictedBy"), Triggers: names(p, "Triggers"), TriggeredBy: names(p, "TriggeredBy"),
		Files:   names(p, "FragmentPath", "DropInPaths"),
		Default: slices.Contains(names(p, "Names"), "default.target"), Transient: p["Transient"] == "yes",
	}
	if u.Active == "" {
		return Unit{}, fmt.Errorf("unit %s: no ActiveState", u.Name)
	}
	if !slices.Contains(states, u.Active) {
		return Unit{}, fmt.Errorf("unit %s: ActiveState %q is none that is known", u.Name, u.Active)
	}
	var asserted time.Duration
	for _, read := range []struct {
		name string
		into func(text string) error
	}{
		{"ExecMainStatus", number(&u.ExitStatus)},
		{"ExecMainCode", number(&u.ExitCode)},
		{"NRestarts", number(&u.Restarts)},
		{"RestartUSec", span(&u.Delay)},
		{"RestartUSecNext", span(&u.Delay)}, // with RestartSteps it grows; systemd 254 and later
		{"ExecMainStartTimestampMonotonic", moment(&u.Started)},
		{"ExecMainExitTimestampMonotonic", moment(&u.Exited)},
		{"ActiveEnterTimestampMonotonic", moment(&u.Up)},
		{"ActiveExitTimestampMonotonic", moment(&u.Left)},
		{"InactiveEnterTimestampMonotonic", moment(&u.Down)},
		{"WatchdogUSec", span(&u.Watchdog)},
		{"RuntimeMaxUSec", span(&u.Longest)},
		{"StateChangeTimestampMonotonic", moment(&u.Changed)},
		{"ConditionTimestampMonotonic", moment(&u.Tried)},
		{"AssertTimestampMonotonic", moment(&asserted)},
	} {
		if text := p[read.name]; text != "" { // only some types of unit have it
			if err := read.into(text); err != nil {
				return Unit{}, fmt.Errorf("unit %s: %s: %w", u.Name, read.name, err)
			}
		}
	}
	u.AssertFail = asserted > 0 && p["AssertResult"] == "no"
	u.timer(p)
	u.Overtaken = u.Started > 0 && strings.Contains(p["ExecStart"], "start_time=[n/a]")
	u.Skipped = u.Tried > 0 && p["ConditionResult"] == "no"
	return u, nil
}

// timer reads what only timers have. A moment that never comes is "infinity" or
// nothing. One that fires a while after the boot, and at no other time, has its
// next time in the next boot.
func (u *Unit) timer(p map[string]string) {
	if _, known := p["LastTriggerUSec"]; !known {
		return
	}
	never := func(name string) bool {
		return p[name] == "" || p[name] == "infinity" || p[name] == "0" || p[name] == "n/a"
	}
	next, fired := !never("NextElapseUSecRealtime") || !never("NextElapseUSecMonotonic"), !never("LastTriggerUSec")
	u.Spent = !next && fired && p["RemainAfterElapse"] == "no"
	u.Vain = !next && !fired && (p["TimersCalendar"] != "" || !atBootOnly(p["TimersMonotonic"]))
}

// atBootOnly tells whether every base of a timer is the start of the machine:
// "{ OnBootUSec=15min ; next_elapse=15min }".
func atBootOnly(bases string) bool {
	return bases != "" && strings.Count(bases, "On") == strings.Count(bases, "OnBootUSec")+strings.Count(bases, "OnStartupUSec")
}

// names reads lists, which have blanks between their words.
func names(p map[string]string, from ...string) []string {
	var all []string
	for _, name := range from {
		all = append(all, strings.Fields(p[name])...)
	}
	return all
}

// loadError is the text of a LoadError, which comes as the name of a D-Bus error
// and a text in quotes.
func loadError(value string) string {
	if _, text, ok := strings.Cut(value, ` "`); ok {
		return strings.TrimSuffix(text, `"`)
	}
	return value
}

func number(n *int) func(string) error {
	return func(text string) (err error) {
		*n, err = strconv.Atoi(text)
		return err
	}
}

// moment reads microseconds since the boot.
func moment(d *time.Duration) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseUint(text, 10, 63)
		*d = microseconds(n)
		return err
	}
}

// forever is a time span without an end.
const forever = time.Duration(1<<63 - 1)

func microseconds(n uint64) time.Duration {
	if n > uint64(forever/time.Microsecond) {
		return forever
	}
	return time.Duration(n) * time.Microsecond
}

// spans are the units of a time span (systemd.time(7)).
var spans = map[string]time.Duration{
	"us": time.Microsecond, "μs": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour,
	"d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "month": 2629800 * time.Second, "y": 31557600 * time.Second,
}

// span reads a time span as systemctl prints it: "1min 30s", "100ms", "infinity".
func span(d *time.Duration) func(string) error {
	return func(text string) error {
		total := time.Duration(0)
		for word := range strings.FieldsSeq(text) {
			if word == "infinity" {
				total = forever
				continue
			}
			digits := strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyzμ")
			unit, known := spans[word[len(digits):]]
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil || n < 0 || (!known && word != "0") {
				return fmt.Errorf("%q is no time span", text)
			}
			if more := n * float64(unit); more < float64(forever-total) {
				total += time.Duration(more)
			} else {
				total = forever
			}
		}
		*d = total
		return nil
	}
}
