package qemu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// Monitor is a connection to a running machine's QMP. QEMU serves one at a
// time: keep it no longer than an operation takes.
type Monitor struct {
	// PID is QEMU's process, as the kernel tells it for the socket: never a
	// number from a file.
	PID  int
	conn *net.UnixConn
	in   *json.Decoder
}

// Error is QEMU's refusal of a command.
type Error struct {
	Command, Class, Desc string
}

// Error names the command and QEMU's reason.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Command, e.Desc) }

// commandLimit bounds one command; none that we use waits for the guest.
const commandLimit = 20 * time.Second

// DialMonitor connects to the machine whose folder is dir. A machine that is
// gone gives an error of the socket (fs.ErrNotExist, ECONNREFUSED).
func DialMonitor(ctx context.Context, dir string) (*Monitor, error) {
	conn, err := DialSocket(ctx, dir, QMPSocket)
	if err != nil {
		return nil, err
	}
	m := &Monitor{conn: conn, in: json.NewDecoder(conn)}
	if m.PID, err = peer(conn); err != nil {
		m.Close()
		return nil, err
	}
	defer limit(ctx, conn)()
	var greeting struct{ QMP json.RawMessage }
	err = m.in.Decode(&greeting)
	if err == nil && greeting.QMP == nil {
		err = errors.New("something else answered")
	}
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("greet QEMU: %w", because(ctx, err))
	}
	if err := m.Do(ctx, "qmp_capabilities", nil, nil); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Do runs a command and decodes its answer into out, which may be nil. Events
// in between are dropped.
func (m *Monitor) Do(ctx context.Context, command string, arguments, out any) error {
	defer limit(ctx, m.conn)()
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(m.conn).Encode(request); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	for {
		var answer struct {
			Return json.RawMessage
			Error  *struct{ Class, Desc string }
		}
		if err := m.in.Decode(&answer); err != nil {
			return fmt.Errorf("%s: %w", command, because(ctx, err))
		}
		switch {
		case answer.Error != nil:
			return &Error{command, answer.Error.Class, answer.Error.Desc}
		case answer.Return != nil && out != nil:
			return json.Unmarshal(answer.Return, out)
		case answer.Return != nil:
			return nil
		}
	}
}

// Close ends the connection; the machine runs on.
func (m *Monitor) Close() { _ = m.conn.Close() }

// Status is the machine's run state: "running", "paused", "inmigrate", ….
func (m *Monitor) Status(ctx context.Context) (string, error) {
	var state struct{ Status string }
	err := m.Do(ctx, "query-status", nil, &state)
	return state.Status, err
}

// UUID is what the machine was started with.
func (m *Monitor) UUID(ctx context.Context) (string, error) {
	var id struct{ UUID string }
	err := m.Do(ctx, "query-uuid", nil, &id)
	return id.UUID, err
}

// Human runs a command of the monitor for people and gives what it says.
func (m *Monitor) Human(ctx context.Context, command string) (string, error) {
	var text string
	err := m.Do(ctx, "human-monitor-command", map[string]any{"command-line": command}, &text)
	return text, err
}

// Ports tells which port of 127.0.0.1 each forwarded guest port got.
func (m *Monitor) Ports(ctx context.Context) (map[int]int, error) {
	text, err := m.Human(ctx, "info usernet")
	if err != nil {
		return nil, err
	}
	return parseUsernet(text)
}

// because prefers the context's own reason over what limit made of it.
func because(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// limit makes the connection obey the context and commandLimit until the
// returned function is called.
func limit(ctx context.Context, conn net.Conn) (release func()) {
	_ = conn.SetDeadline(time.Now().Add(commandLimit))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}
