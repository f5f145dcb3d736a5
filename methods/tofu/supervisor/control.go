package supervisor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
)

// Control is the program's end of the line to its supervisors, which run one
// after the other.
type Control struct {
	exec     string
	first    string // what a supervisor is told first
	listener net.Listener
	mu       sync.Mutex
	conn     net.Conn
	stopped  bool
	last     Exit
	ended    chan struct{} // closed when the present one has said how it ended
}

// Listen prepares a folder from which supervisors can be started.
func Listen(folder string, s Setting) (*Control, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	environment, err := json.Marshal(s.Env)
	if err != nil {
		return nil, err
	}
	c := &Control{exec: filepath.Join(folder, Name), first: wordGo + string(environment) + "\n"}
	s.Control = "control"
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(folder, settingName), text, 0o600); err != nil {
		return nil, err
	}
	if err := os.Symlink(program, c.exec); err != nil {
		return nil, err
	}
	at, done, err := short(folder, s.Control)
	if err != nil {
		return nil, err
	}
	defer done()
	c.listener, err = net.Listen("unix", at) //nolint:noctx // it ends with Close
	if err != nil {
		return nil, err
	}
	c.listener.(*net.UnixListener).SetUnlinkOnClose(false) // the folder goes as a whole
	go c.accept()
	return c, nil
}

// Exec is the program for terraform-exec to run as OpenTofu.
func (c *Control) Exec() string { return c.exec }

func (c *Control) accept() {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.stopped {
			_ = conn.Close()
			c.mu.Unlock()
			continue
		}
		ended := make(chan struct{})
		c.conn, c.last, c.ended = conn, Exit{Code: notRun}, ended
		_, _ = io.WriteString(conn, c.first)
		c.mu.Unlock()
		go c.hear(conn, ended)
	}
}

// hear takes down how tofu ended.
func (c *Control) hear(conn net.Conn, ended chan<- struct{}) {
	defer close(ended)
	defer func() { _ = conn.Close() }()
	text, err := bufio.NewReader(conn).ReadBytes('\n')
	var e Exit
	if err == nil && json.Unmarshal(text, &e) == nil {
		c.mu.Lock()
		c.last = e
		c.mu.Unlock()
	}
}

// Stop asks the present tofu to end well, and lets no other start. It says
// whether there is one.
func (c *Control) Stop() bool { return c.say(wordStop) }

// Force ends the present tofu and all that it started, at once.
func (c *Control) Force() { c.say(wordForce) }

func (c *Control) say(word string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	if c.conn == nil {
		return false
	}
	_, err := io.WriteString(c.conn, word)
	return err == nil
}

// Begin forgets how the tofu before ended.
func (c *Control) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.ended = Exit{Code: notRun}, nil
}

// Last says how the tofu ended that ran since Begin. It is to be asked when
// terraform-exec has returned, whose own word for it can't be trusted.
func (c *Control) Last() Exit {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended != nil {
		<-ended
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

// Close ends the line; a tofu that still ran would be asked to stop by it.
func (c *Control) Close() error {
	err := c.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
