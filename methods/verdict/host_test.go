package verdict

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
)

// machine answers with samples, one a look, the last for ever. What it has no
// answer for is refused.
type machine struct {
	samples  []any // string: what the machine printed; error: the look failed
	journal  any   // string or error: of systemd, after the cursor
	restarts any   // string or error: of late
	words    any   // string or error: the last words of every invocation
	sums     any   // string or error
	command  any   // string or error: of a probe
	texts    []any // string or error: of services, one a reading, the last for ever
	bus      func(ctx context.Context, in io.Reader, out io.Writer) error
	dial     func(ctx context.Context, network, address string) (net.Conn, error)

	mu    sync.Mutex
	looks int
	asked []string // invocations whose last words were read
	reads int
	marks []string
}

func (m *machine) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := m.command
	switch script {
	case sampleScript:
		answer = m.samples[min(m.looks, len(m.samples)-1)]
		m.looks++
	case journalScript:
		answer = m.journal
	case restartsScript:
		answer = m.restarts
	case unitScript, userScript, insideScript:
		m.asked = append(m.asked, args[0])
		answer = m.words
	case textsScript:
		if len(m.texts) > 0 {
			answer = m.texts[min(m.reads, len(m.texts)-1)]
			m.reads++
		}
	case marksScript:
		m.marks = args
		answer = nil
	case sumsScript:
		answer = m.sums
		if answer == nil {
			answer = strings.Repeat("1 1\n", len(args)/2)
		}
	}
	switch answer := answer.(type) {
	case string:
		return []byte(answer), nil
	case error:
		return nil, answer
	}
	return nil, nil
}

func (m *machine) Attach(ctx context.Context, script string, in io.Reader, out io.Writer) error {
	if m.bus == nil || script != bridgeScript {
		return errors.New("exit status 127: systemd-stdio-bridge: not found")
	}
	return m.bus(ctx, in, out)
}

func (m *machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if m.dial == nil {
		return nil, fmt.Errorf("connect to %s: connection refused", address)
	}
	return m.dial(ctx, network, address)
}

// recorded is a file of a machine on which every fault was brought about at
// once.
func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "faults", name))
	assert.NilError(t, err)
	return string(text)
}

// printed is a sample as the machine prints it, taken so many seconds after its
// boot: units are blocks of properties.
func printed(seconds int, units ...string) string {
	return fmt.Sprintf("Boot=0a\nNow=%d000000000\nUptime=%d.00\nClock=%d\nSystem=/nix/store/a\nCursor=-- cursor: c\n\n%s\n\nEnd=yes\n",
		seconds, seconds, 1700000000+seconds, strings.Join(append([]string{"Id=base.target\nLoadState=loaded\nActiveState=active\nSubState=active"}, units...), "\n\n"))
}

// web is a service that multi-user.target wants.
func web(active string, more ...string) string {
	return "Id=web.service\nLoadState=loaded\nSubState=x\nType=simple\nInvocationID=0a0a\nWantedBy=base.target\nActiveState=" + active + "\n" + strings.Join(more, "\n")
}
