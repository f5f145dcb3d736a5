package remote

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"
)

// greeting listens to how the other side begins. An SSH server names its version
// ("SSH-2.0-…"), and may send lines before that (RFC 4253, 4.2). So the library reads
// on where another service speaks, and both sides wait for each other until the limit.
type greeting struct {
	mu      sync.Mutex
	text    []byte // what came before the version
	over    bool   // the version came
	abandon *time.Timer
}

const (
	// afterWords is how long a version may take after other lines: sshd and what
	// stands before it send both at once.
	afterWords = 3 * time.Second
	wordsMost  = 1 << 10
)

// elsewhere is how services begin that are not SSH: HTTP, SMTP and FTP, POP3, IMAP,
// Redis, VNC, XMPP.
var elsewhere = regexp.MustCompile(`^(HTTP/|[1-5][0-9][0-9][ -]|\+OK|\* [A-Z]|-ERR|RFB |<)`)

// turnsAway is what sshd says in the place of its version where it takes nobody in just
// now (OpenSSH, sshd.c).
var turnsAway = regexp.MustCompile(`^(Exceeded MaxStartups|Not allowed at this time)\r?\n`)

// hear takes in what was read, and ends the connection by stop where it can be no
// SSH.
func (g *greeting) hear(p []byte, stop func()) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over || len(p) == 0 {
		return nil
	}
	g.text = append(g.text, p...)
	for line := range strings.Lines(string(g.text)) {
		if strings.HasPrefix(line, "SSH-") {
			g.over = true
			g.still()
			return nil
		}
	}
	whole := strings.LastIndexByte(string(g.text), '\n') >= 0
	switch {
	case len(g.text) > wordsMost, noWords(g.text), whole && elsewhere.Match(g.text):
		g.still()
		return &strangerError{said: string(g.text)}
	case whole && g.abandon == nil:
		g.abandon = time.AfterFunc(afterWords, stop)
	}
	return nil
}

// still stops waiting for a version.
func (g *greeting) still() {
	if g.abandon != nil {
		g.abandon.Stop()
	}
}

// stranger is what the other side said in the place of a version; nil where it said
// one, or nothing.
func (g *greeting) stranger() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.still()
	switch {
	case g.over, len(g.text) == 0:
		return nil
	case turnsAway.Match(g.text):
		return &turnedAwayError{said: string(g.text)}
	}
	return &strangerError{said: string(g.text)}
}

// silent reports whether nothing came at all.
func (g *greeting) silent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.over && len(g.text) == 0
}

// noWords reports whether text holds what stands in no line of words.
func noWords(text []byte) bool {
	for _, b := range text {
		if b < ' ' && b != '\r' && b != '\n' && b != '\t' && b != '\x1b' || b == 0x7f || b == 0xff {
			return true
		}
	}
	return false
}

// strangerError is another service than an SSH server.
type strangerError struct{ said string }

// shownWords bounds how much of its words a message repeats, in bytes.
const shownWords = 60

func (e *strangerError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.said), "\n")
	line = strings.TrimSpace(line)
	if len(line) > shownWords {
		line = strings.ToValidUTF8(line[:shownWords], "") + "…"
	}
	return fmt.Sprintf("answers with %q, which is no ssh", line)
}

// turnedAwayError is an sshd that takes nobody in just now.
type turnedAwayError struct{ said string }

func (e *turnedAwayError) Error() string {
	return fmt.Sprintf("sshd turns the connection away: %q", strings.TrimSpace(e.said))
}

// greeted is a connection whose beginning is listened to.
type greeted struct {
	net.Conn
	greeting *greeting
}

func (g greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if strange := g.greeting.hear(p[:n], func() { _ = g.Close() }); strange != nil {
		return 0, strange // with bytes beside it, an error may be passed over
	}
	return n, err
}
