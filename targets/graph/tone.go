package graph

import "fediversity.eu/slipway/targets/report"

// Tone is what an outcome means to whoever looks at many of them.
type Tone string

// The tones.
const (
	Good    Tone = "good"    // healthy or done
	Bad     Tone = "bad"     // failed, unhealthy, bad coordinates
	Caution Tone = "caution" // refused, busy, reboot needed: nothing is broken, somebody must act
	Unsure  Tone = "unsure"  // contact lost or interrupted
	Idle    Tone = "idle"    // not reached
)

// ToneOf is the tone of how a run ended.
func ToneOf(r *report.Record) Tone {
	if r.Outcome == report.NotStarted && r.ExitCode != report.Usage {
		return Idle
	}
	switch r.ExitCode {
	case report.Healthy:
		return Good
	case report.RebootNeeded, report.Refused, report.Busy:
		return Caution
	case report.Unknown, report.Interrupted, report.Terminated:
		return Unsure
	case report.Failed, report.Usage, report.Unhealthy:
	}
	return Bad
}

// Mark is a sign for the tone, so that it needs no colour.
func (t Tone) Mark() string {
	switch t {
	case Good:
		return "✓"
	case Bad:
		return "✕"
	case Caution:
		return "!"
	case Unsure:
		return "?"
	case Idle:
	}
	return "–"
}
