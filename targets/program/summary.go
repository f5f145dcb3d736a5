package program

import (
	"fmt"
	"strings"
)

// summary ends a run with the outcome of every member of an aggregate, and with
// what to do about what went wrong.
func (s *Session) summary(n *node) {
	log := s.log.For(n.program.Name)
	if n.program.Aggregate() {
		for _, line := range table(n.members) {
			log.Infof("%s", line)
		}
	}
}

// table writes one line a member: name, outcome, seconds, and the first line of
// what went wrong.
func table(members []*member) []string {
	width := 0
	for _, m := range members {
		width = max(width, len(m.program.Name))
	}
	lines := make([]string, 0, len(members))
	for _, m := range members {
		why := ""
		if m.err != nil {
			why, _, _ = strings.Cut(m.err.Error(), "\n")
		}
		seconds := m.record.Ended.Sub(m.record.Started).Seconds()
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s  %-13s  %6.1f s  %s",
			width, m.program.Name, m.outcome(), seconds, why), " "))
	}
	return lines
}
