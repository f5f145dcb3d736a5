package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/targets/graph"
	"fediversity.eu/slipway/targets/report"
)

// Bounds of what is shown at once.
const (
	opened = 12 // details that are open from the start
	drawn  = 60 // programs in the picture of the order; more of them are no picture
)

// view is what the page says of a run.
type view struct {
	*report.Record
	Style   template.CSS
	Ended   ended
	Counts  []count
	Runs    []*run // that are no aggregates
	Several bool   // of the run itself; else it is the only one of Runs
	Axis    axis
	Legend  []family // of the steps that there are
	Graph   template.HTML
	Broken  []*run
}

// ended is how something ended.
type ended struct {
	Tone    graph.Tone
	Outcome string
	Took    string
}

// problem is what went wrong.
type problem struct {
	*report.Problem
	Tone graph.Tone
}

func problemOf(r *report.Record) *problem {
	if r.Error == nil {
		return nil
	}
	return &problem{r.Error, graph.ToneOf(r)}
}

// Problem is what went wrong with the whole; nil when nothing did.
func (v *view) Problem() *problem { return problemOf(v.Record) }

// Problem is what went wrong with the run; nil when nothing did.
func (r *run) Problem() *problem { return problemOf(r.Record) }

// longestReason bounds what stands beside a name, in characters.
const longestReason = 160

// Why is the first line of what went wrong.
func (r *run) Why() string {
	if r.Error == nil {
		return ""
	}
	line, _, _ := strings.Cut(r.Error.What, "\n")
	if letters := []rune(line); len(letters) > longestReason {
		line = string(letters[:longestReason]) + "…"
	}
	return line
}

// count is how many ended in one way.
type count struct {
	ended
	Number int
}

// run is one program of the run.
type run struct {
	*report.Record
	Ended   ended
	ID      string // of its place on the page
	Name    string
	Open    bool
	Bars    []bar // on the axis of the whole
	Life    bar   // from its start to its end
	Steps   []step
	Axis    axis // its own
	Facts   []fact
	Faults  []report.Unit // that turn the verdict
	Remarks []report.Unit // that don't
}

func newView(record *report.Record) (*view, error) {
	v := &view{Record: record, Style: style, Ended: endOf(record), Several: len(record.Members) > 0}
	v.collect(record)
	v.Axis = newAxis(record.Started, record.Ended)
	v.name()
	for _, r := range v.Runs {
		r.fill(v.Axis)
		v.Legend = legend(v.Legend, r.Bars)
		if r.Ended.Tone != graph.Good && r.Ended.Tone != graph.Idle {
			r.Open = len(v.Broken) < opened
			v.Broken = append(v.Broken, r)
		}
		v.count(r.Ended)
	}
	needs := func(r *run) bool { return len(r.Needs) > 0 }
	if len(v.Runs) <= drawn && slices.ContainsFunc(v.Runs, needs) {
		picture, err := graph.Of(record).SVG()
		if err != nil {
			return nil, err
		}
		v.Graph = template.HTML(picture) //nolint:gosec // a template made it
	}
	return v, nil
}

func endOf(r *report.Record) ended {
	return ended{Tone: graph.ToneOf(r), Outcome: r.Outcome, Took: report.Duration(r.Ended.Sub(r.Started))}
}

// collect lists the programs that are no aggregates, each once.
func (v *view) collect(r *report.Record) {
	for _, member := range r.Members {
		v.collect(member)
	}
	if len(r.Members) == 0 && !slices.ContainsFunc(v.Runs, func(other *run) bool { return other.Program == r.Program }) {
		v.Runs = append(v.Runs, &run{Record: r, Ended: endOf(r)})
	}
}

// name names the runs by machine or effect where that says which is which, with the
// group before it where there are several.
func (v *view) name() {
	taken := map[string]int{}
	several := slices.ContainsFunc(v.Runs, func(r *run) bool { return r.Group != v.Runs[0].Group })
	for i, r := range v.Runs {
		r.ID = fmt.Sprintf("run-%d", i+1)
		if r.Name = r.Machine + r.Effect; r.Name != "" && several {
			r.Name = r.Group + " " + r.Name
		}
		taken[r.Name]++
	}
	for _, r := range v.Runs {
		if r.Name == "" || taken[r.Name] > 1 {
			r.Name = r.Program
		}
	}
}

func (v *view) count(e ended) {
	i := slices.IndexFunc(v.Counts, func(c count) bool { return c.Outcome == e.Outcome })
	if i < 0 {
		i, v.Counts = len(v.Counts), append(v.Counts, count{ended: e})
	}
	v.Counts[i].Number++
}

// fill says of a run what its record holds.
func (r *run) fill(whole axis) {
	steps := stepsOf(r.Record)
	if len(steps) > 0 || r.Ended.Tone != graph.Idle {
		r.Life = whole.bar(step{Began: r.Started, Took: r.Record.Ended.Sub(r.Started)})
	}
	r.Axis = newAxis(r.Started, r.Record.Ended)
	for _, s := range steps {
		r.Bars = append(r.Bars, whole.bar(s))
		s.Bar = r.Axis.bar(s)
		r.Steps = append(r.Steps, s)
	}
	r.Facts = factsOf(r.Record)
	for _, u := range r.Units {
		if turns(u) {
			r.Faults = append(r.Faults, u)
		} else {
			r.Remarks = append(r.Remarks, u)
		}
	}
}

// Moment writes a point in time.
func (*view) Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Plural writes a number of things.
func (*view) Plural(n int, what string) string { return plural(n, what) }

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// With gives a part of the page what it is about, together with the whole.
func (v *view) With(r *run) part { return part{v, r} }

type part struct {
	Page *view
	Run  *run
}

// Heading is a heading within the part: headings leave no level out.
func (p part) Heading(text string) template.HTML {
	level := "h2"
	if p.Page.Several {
		level = "h4" // below that of the run
	}
	return template.HTML("<" + level + ">" + template.HTMLEscapeString(text) + "</" + level + ">") //nolint:gosec // escaped
}

// Took writes seconds.
func (part) Took(seconds float64) string {
	return report.Duration(time.Duration(seconds * float64(time.Second)))
}

// Of gives the part of the page about a unit what it says.
func (p part) Of(u report.Unit) unit {
	return unit{Unit: u, Turns: turns(u), page: p.Page}
}
