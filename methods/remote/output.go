package remote

import (
	"bytes"
	"io"
	"sync"

	"fediversity.eu/slipway/internal/tail"
)

// cutter drops everything up to the line that holds its token, and then the
// same for the next one: what comes before is noise of a login shell, or sudo's
// words. The line is "token" or "token group", group being a process group; it
// need not be the start of a line, since noise may end without one.
type cutter struct {
	tokens []string
	noise  []byte // since the last token; only its end is kept
	group  string // as the last token's line gave it
}

const (
	noiseMax = 64 << 10
	groupMax = 10 // digits
)

// cut takes what was written and returns what is left of it.
func (c *cutter) cut(p []byte) []byte {
	if c.started() {
		return p
	}
	c.noise = append(c.noise, p...)
	for !c.started() {
		end, group := findToken(c.noise, c.tokens[0])
		if end < 0 {
			if extra := len(c.noise) - noiseMax; extra > 0 {
				c.noise = append([]byte(nil), c.noise[extra:]...)
			}
			return nil
		}
		c.tokens, c.group, c.noise = c.tokens[1:], group, c.noise[end:]
	}
	rest := c.noise
	c.noise = nil
	return rest
}

// started tells whether all tokens were seen.
func (c *cutter) started() bool { return len(c.tokens) == 0 }

// findToken returns where the token's line ends, or -1. A token that is followed
// by anything else is an echo of our own command line.
func findToken(text []byte, token string) (end int, group string) {
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(token))
		if i < 0 {
			return -1, ""
		}
		from += i + len(token)
		rest := text[from:]
		line := bytes.IndexByte(rest[:min(len(rest), groupMax+2)], '\n')
		if line < 0 {
			continue
		}
		digits := bytes.TrimPrefix(rest[:line], []byte(" "))
		if len(bytes.Trim(digits, "0123456789")) == 0 {
			return from + line + 1, string(digits)
		}
	}
}

// output is one stream of a command: cut, remembered, handed on. Its Write never
// fails, so that a reader that went away does not block the command; the first
// failure is told to failed instead.
type output struct {
	mu   sync.Mutex
	cut  cutter
	tail tail.Tail

	writing *sync.Mutex // one for both streams of a command where they share a writer
	to      io.Writer   // nil discards
	closed  bool        // to is not written to any more
	failed  func(error)
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	rest := o.cut.cut(p)
	_, _ = o.tail.Write(rest)
	o.mu.Unlock()
	if len(rest) == 0 || o.to == nil {
		return len(p), nil
	}
	o.writing.Lock()
	defer o.writing.Unlock()
	if !o.closed {
		if _, err := o.to.Write(rest); err != nil {
			o.closed = true
			o.failed(err)
		}
	}
	return len(p), nil
}

// close keeps what still comes from a writer whose owner goes on without it. It
// returns once no write is under way.
func (o *output) close() {
	o.writing.Lock()
	defer o.writing.Unlock()
	o.closed = true
}

// state tells whether the command was seen to start, how many tokens are still
// missing, and its process group.
func (o *output) state() (missing int, group string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.cut.tokens), o.cut.group
}

// noise is what was said where the command should have begun.
func (o *output) noise() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return tail.Of(o.cut.noise)
}

// lastWords are the last lines that the command itself wrote.
func (o *output) lastWords() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tail.String()
}
