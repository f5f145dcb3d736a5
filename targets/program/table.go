package program

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// table ends an aggregate with a row a member: its name, its outcome, how long
// it took, and the first line of what went wrong.
func (n *node) table(log *report.Log) {
	width := 0
	for _, m := range n.members {
		width = max(width, len(m.program.Name))
	}
	for _, m := range n.members {
		why := ""
		if m.err != nil {
			why, _, _ = strings.Cut(m.err.Error(), "\n")
		}
		ended := m.ended()
		why = strings.TrimPrefix(why, report.NotStarted+": ")
		log.Row(m.program.Name, ended, strings.TrimRight(fmt.Sprintf("%-*s  %-13s  %6.1f s  %s",
			width, m.program.Name, ended.Words, ended.Took.Seconds(), why), " "))
	}
}
