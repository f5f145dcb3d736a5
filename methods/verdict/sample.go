package verdict

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Unit is what systemd says of a unit at one moment (org.freedesktop.systemd1).
type Unit struct {
	Name       string
	Load       string // LoadState
	Active     string // ActiveState
	Sub        string // SubState
	Result     string // "success", "exit-code", "timeout", …; empty where the type has none
	ExitStatus int    // of the main process
	Restarts   int    // automatic ones, since the last start by hand
	Invocation string
	Job        bool // a job of it is waiting or running
}

// Sample is what systemd says of all loaded units at one moment.
type Sample struct{ Units []Unit }

// sampleScript prints the properties of all loaded units, one block a unit.
const sampleScript = `systemctl show --all --property=Id,LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,InvocationID,Job '*'`

// errNoUnits is a sample without a single unit, which no machine has.
var errNoUnits = errors.New("systemctl named no unit")

// parseSample reads the output of "systemctl show": blocks of KEY=VALUE lines,
// separated by empty lines. A block without an Id is not a unit. A sample that
// can't be read, or that has no unit, is an error and never an empty machine.
func parseSample(text string) (Sample, error) {
	var s Sample
	for block := range strings.SplitSeq(text, "\n\n") {
		properties := map[string]string{}
		for line := range strings.Lines(block) {
			if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "="); ok {
				properties[key] = value
			}
		}
		if properties["Id"] == "" {
			continue
		}
		unit, err := unitOf(properties)
		if err != nil {
			return Sample{}, err
		}
		s.Units = append(s.Units, unit)
	}
	if len(s.Units) == 0 {
		return Sample{}, errNoUnits
	}
	return s, nil
}

func unitOf(p map[string]string) (Unit, error) {
	u := Unit{
		Name: p["Id"], Load: p["LoadState"], Active: p["ActiveState"], Sub: p["SubState"],
		Result: p["Result"], Invocation: p["InvocationID"], Job: p["Job"] != "" && p["Job"] != "0",
	}
	if u.Active == "" {
		return Unit{}, fmt.Errorf("unit %s: no ActiveState", u.Name)
	}
	if !slices.Contains(states, u.Active) {
		return Unit{}, fmt.Errorf("unit %s: ActiveState %q is none that is known", u.Name, u.Active)
	}
	var err error
	if u.ExitStatus, err = number(p["ExecMainStatus"]); err != nil {
		return Unit{}, fmt.Errorf("unit %s: ExecMainStatus: %w", u.Name, err)
	}
	if u.Restarts, err = number(p["NRestarts"]); err != nil {
		return Unit{}, fmt.Errorf("unit %s: NRestarts: %w", u.Name, err)
	}
	return u, nil
}

// states are the values of ActiveState (systemd, unit_active_state_table).
var states = []string{
	"active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance", "refreshing",
}

// number reads a property that only some types of unit have.
func number(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.Atoi(text)
}
