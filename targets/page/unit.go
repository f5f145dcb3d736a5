package page

import (
	"fmt"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// unit is what the page says of one unit.
type unit struct {
	Unit  report.Unit
	Turns bool // the verdict
	page  *view
}

// turns tells whether a unit turns the verdict (report.Unit, Class).
func turns(u report.Unit) bool { return u.Class == "new" || u.Class == "present" }

// Several tells whether it is on a page of several programs.
func (u unit) Several() bool { return u.page.Several }

// Lines writes how many lines of its journal there are.
func (u unit) Lines() string { return plural(len(u.Unit.Journal), "line") }

// Journal is its journal.
func (u unit) Journal() string { return strings.Join(u.Unit.Journal, "\n") }

// Ending writes since when it is as it is, and how its process ended.
func (u unit) Ending() string {
	var parts []string
	if u.Unit.Since != nil {
		parts = append(parts, "since "+u.page.Moment(*u.Unit.Since))
	}
	if u.Unit.Result != "" {
		parts = append(parts, "result "+u.Unit.Result)
	}
	switch {
	case u.Unit.Exit != "":
		parts = append(parts, u.Unit.Exit)
	case u.Unit.ExitStatus != 0:
		parts = append(parts, fmt.Sprintf("exit status %d", u.Unit.ExitStatus))
	}
	if u.Unit.Restarts > 0 {
		parts = append(parts, plural(u.Unit.Restarts, "restart"))
	}
	if u.Unit.User != "" {
		parts = append(parts, "in the manager of user "+u.Unit.User)
	}
	if u.Unit.Container != "" {
		parts = append(parts, "in container "+u.Unit.Container)
	}
	return strings.Join(parts, ", ")
}
