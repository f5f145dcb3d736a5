package nixos

import (
	"regexp"
	"slices"
	"strings"
)

// Said is what a switch program said of what it did. Its exit code alone is not
// enough: one that dies ends with whatever error number was there last, and failed
// units hide a failed activation (nixpkgs, switch-to-configuration-ng).
type Said struct {
	Something  bool
	Began      bool     // it changed something
	Locked     bool     // another switch was under way
	Refused    bool     // the system's own checks refused
	Checks     []string // which of them
	BootLoader bool     // the boot loader could not be installed
	Activation bool     // the activation script failed
	Users      []string // whose activation failed
	Units      []string // that failed, or whose jobs did
}

// onceMore begins what switch.sh says before it runs the program again, and what
// that does again counts.
const onceMore = "slipway: the switch program died half-way"

// couldNotLock is what it says while another holds its lock; the code 11 alone is
// that of other calls too.
const couldNotLock = "Could not acquire lock"

// ofUsers is a unit of users' managers that the program calls as it calls the
// machine's own; that the activation of its user failed is said as well.
const ofUsers = "nixos-activation.service"

var (
	checkFailed = regexp.MustCompile(`^Pre-switch check '(.+)' failed$`)
	userFailed  = regexp.MustCompile(`^warning: user activation for (.+) failed$`)
	unitFailed  = regexp.MustCompile(`^(?:Failed to (?:start|stop|restart|reload)|Job for|A dependency job for) (\S+\.[a-z]+)(?:$|: | failed)`)
)

// hear takes in one line.
func (s *Said) hear(line string) {
	s.Something = true
	switch {
	case strings.HasPrefix(line, onceMore):
		*s = Said{Something: true, Began: true}
	case strings.HasPrefix(line, couldNotLock):
		s.Locked = true
	case line == "Pre-switch checks failed":
		s.Refused = true
	case line == "Failed to install bootloader":
		s.BootLoader = true
	case strings.HasPrefix(line, "stopping "), strings.HasPrefix(line, "NOT restarting "), line == "activating the configuration...":
		s.Began = true
	case line == "Failed to run activate script", strings.HasPrefix(line, "Activation script snippet ") && strings.Contains(line, " failed"):
		s.Activation = true
	}
	if found := checkFailed.FindStringSubmatch(line); found != nil {
		s.Checks = append(s.Checks, found[1])
	}
	if found := userFailed.FindStringSubmatch(line); found != nil {
		s.Users = append(s.Users, found[1])
	}
	if found := unitFailed.FindStringSubmatch(line); found != nil && found[1] != ofUsers {
		s.name(found[1])
	}
	if units, ok := strings.CutPrefix(line, "warning: the following units failed: "); ok {
		for unit := range strings.SplitSeq(units, ",") {
			s.name(strings.TrimSpace(unit))
		}
	}
}

// refusal is who refused.
func (s *Said) refusal() string {
	if len(s.Checks) == 0 {
		return "its pre-switch checks refuse"
	}
	return "its pre-switch check " + strings.Join(s.Checks, ", ") + " refuses"
}

func (s *Said) name(unit string) {
	if !slices.Contains(s.Units, unit) {
		s.Units = append(s.Units, unit)
	}
}
