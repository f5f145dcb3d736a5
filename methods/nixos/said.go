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
	Activation bool     // the activation script failed
	Users      []string // whose activation failed
	Units      []string // that failed, or whose jobs did
}

// onceMore begins what switch.sh says before it runs the program again, and what
// that does again counts.
const onceMore = "slipway: the switch program died half-way"

var (
	userFailed = regexp.MustCompile(`^warning: user activation for (.+) failed$`)
	unitFailed = regexp.MustCompile(`^(?:Failed to (?:start|stop|restart|reload)|Job for|A dependency job for) ([^\s:]+\.[a-z]+)(?:$|:| failed)`)
)

// hear takes in one line.
func (s *Said) hear(line string) {
	s.Something = true
	switch {
	case strings.HasPrefix(line, onceMore):
		*s = Said{Something: true, Began: true}
	case strings.HasPrefix(line, "Could not acquire lock"):
		s.Locked = true
	case line == "Pre-switch checks failed":
		s.Refused = true
	case strings.HasPrefix(line, "stopping "), strings.HasPrefix(line, "NOT restarting "), line == "activating the configuration...":
		s.Began = true
	case line == "Failed to run activate script", strings.HasPrefix(line, "Activation script snippet ") && strings.Contains(line, " failed"):
		s.Activation = true
	}
	if found := userFailed.FindStringSubmatch(line); found != nil {
		s.Users = append(s.Users, found[1])
	}
	if found := unitFailed.FindStringSubmatch(line); found != nil {
		s.name(found[1])
	}
	if units, ok := strings.CutPrefix(line, "warning: the following units failed: "); ok {
		for unit := range strings.SplitSeq(units, ",") {
			s.name(strings.TrimSpace(unit))
		}
	}
}

func (s *Said) name(unit string) {
	if !slices.Contains(s.Units, unit) {
		s.Units = append(s.Units, unit)
	}
}
