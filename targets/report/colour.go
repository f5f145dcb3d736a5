package report

// paint puts text between the sequences of a colour (ECMA-48 SGR). The nil paint
// leaves it as it is.
type paint func(colour, text string) string

// The colours, as SGR parameters.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

func coloured(colour, text string) string { return "\x1b[" + colour + "m" + text + "\x1b[0m" }

func (p paint) in(colour, text string) string {
	if p == nil {
		return text
	}
	return p(colour, text)
}

// outcome colours how something ended: well, not at all or not yet, badly.
func (p paint) outcome(code Code, words string) string {
	switch code { //nolint:exhaustive // every other is bad
	case Healthy:
		return p.in(green, words)
	case Refused, Busy, RebootNeeded, Interrupted, Terminated:
		return p.in(yellow, words)
	}
	return p.in(red, words)
}
