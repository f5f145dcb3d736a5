package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"fediversity.eu/slipway/targets/report"
)

// step is one thing that a run did, and when.
type step struct {
	Name  string
	Began time.Time
	Took  time.Duration
	Bar   bar
}

// Length writes how long it took.
func (s step) Length() string { return report.Duration(s.Took) }

// stepsOf lists the steps of a run by their beginning. A record that does not say
// when they began gets them one after another.
func stepsOf(r *report.Record) []step {
	var steps []step
	next := r.Started
	for _, t := range r.Timings {
		s := step{Name: t.Step, Began: t.Started, Took: time.Duration(t.Seconds * float64(time.Second))}
		if s.Began.IsZero() {
			s.Began = next
		}
		next = s.Began.Add(s.Took)
		steps = append(steps, s)
	}
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.Began.UnixNano(), b.Began.UnixNano()) })
	return steps
}

// family is what a step is for; steps of one family have one colour.
type family struct{ Class, Means string }

var families = []family{
	{"prepare", "prepare"}, {"reach", "reach the other side"}, {"copy", "copy"}, {"change", "change"}, {"judge", "judge"}, {"other", "other"},
}

var familyOf = map[string]string{
	"evaluate": "prepare", "build": "prepare", "render": "prepare",
	"boot": "reach", "connect": "reach", "look": "reach", "read": "reach",
	"copy":   "copy",
	"switch": "change", "change": "change", "commit": "change", "reboot": "change", "apply": "change",
	report.VerdictStep: "judge", "look again": "judge", "settle": "judge", "verify": "judge",
}

// legend adds the families of bars to those that a page explains.
func legend(known []family, bars []bar) []family {
	return slices.DeleteFunc(slices.Clone(families), func(one family) bool {
		return !slices.Contains(known, one) && !slices.ContainsFunc(bars, func(b bar) bool { return b.Family == one.Class })
	})
}

// axis is a stretch of time.
type axis struct {
	from  time.Time
	long  time.Duration
	Ticks []tick
	Every template.CSS // from tick to tick, for lines
}

type tick struct {
	At   template.CSS
	Text string
}

// bar is a step on an axis.
type bar struct {
	Name, Length, Family string
	Place                template.CSS
	Wide                 bool // enough for a word
}

// wide is the share of an axis that holds the name of a step.
const wide = 0.1

func newAxis(from, to time.Time) axis {
	a := axis{from: from, long: max(to.Sub(from), time.Millisecond)}
	every := tickOf(a.long)
	a.Every = percent("--tick", every, a.long)
	for at := time.Duration(0); at <= a.long*84/100; at += every { // a later one would stick out of a narrow page
		a.Ticks = append(a.Ticks, tick{percent("left", at, a.long), tickText(at)})
	}
	return a
}

// round are the stretches of time from one tick of an axis to the next.
var round = func() []time.Duration {
	var all []time.Duration
	for unit, times := range map[time.Duration][]int{
		time.Millisecond: {1, 2, 5, 10, 20, 50, 100, 200, 500},
		time.Second:      {1, 2, 5, 10, 15, 30},
		time.Minute:      {1, 2, 5, 10, 15, 30},
		time.Hour:        {1, 2, 6, 12, 24},
	} {
		for _, n := range times {
			all = append(all, time.Duration(n)*unit)
		}
	}
	slices.Sort(all)
	return all
}()

// tickOf is a round stretch of time that fits up to six times into another.
func tickOf(long time.Duration) time.Duration {
	for _, every := range round {
		if long/every < 6 {
			return every
		}
	}
	return long / 5
}

func tickText(at time.Duration) string {
	if at < time.Minute && at%time.Second == 0 {
		return fmt.Sprintf("%d s", at/time.Second)
	}
	return report.Duration(at)
}

// bar places a step. What took no time to speak of can still be seen.
func (a axis) bar(s step) bar {
	left := min(max(float64(s.Began.Sub(a.from))/float64(a.long), 0), 1)
	width := min(max(float64(s.Took)/float64(a.long), 0), 1-left)
	b := bar{Name: s.Name, Length: s.Length(), Family: familyOf[s.Name], Wide: width >= wide}
	if b.Family == "" {
		b.Family = "other"
	}
	b.Place = template.CSS(fmt.Sprintf("left:%.2f%%;width:%.2f%%", math.Min(left*100, 99.6), math.Max(width*100, 0.4))) //nolint:gosec // numbers
	return b
}

func percent(property string, part, whole time.Duration) template.CSS {
	return template.CSS(fmt.Sprintf("%s:%.2f%%", property, 100*float64(part)/float64(whole))) //nolint:gosec // a number
}
