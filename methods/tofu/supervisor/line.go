package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// The words that the program says to its supervisor. The first has an environment
// behind it, in JSON. The end of the line is the death of the program.
const (
	wordGo    = "go "
	wordStop  = "stop\n"
	wordForce = "force\n"
)

// Exit is what the supervisor says at last.
type Exit struct {
	Code     int
	ByItself bool // and not by a signal
	// Unwritten is why not all that it made could be written down as it made it;
	// empty means that it was. It was asked to stop then.
	Unwritten string `json:",omitempty"`
}

// line is the connection to the program.
type line struct {
	net.Conn
	words *bufio.Reader
	dead  atomic.Bool // the program is gone
}

// dial reaches the program's socket. The way through the open folder keeps the
// address short: it may hold 107 bytes (unix(7)).
func dial(folder, name string) (*line, error) {
	at, done, err := short(folder, name)
	if err != nil {
		return nil, err
	}
	defer done()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(context.Background(), "unix", at)
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, words: bufio.NewReader(conn)}, nil
}

func short(folder, name string) (string, func(), error) {
	dir, err := os.Open(folder)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), name), func() { _ = dir.Close() }, nil
}

// allowed waits for the program to say that tofu may run, and with what in its
// environment. One that died or was told to stop says nothing.
func (l *line) allowed() (environment map[string]string, ok bool) {
	word, err := l.words.ReadString('\n')
	text, ok := strings.CutPrefix(word, wordGo)
	ok = ok && err == nil && json.Unmarshal([]byte(text), &environment) == nil
	return environment, ok
}

// listen turns what the program says into signals; ask asks tofu to stop, however
// often it is called.
func (l *line) listen(signals chan<- syscall.Signal, ask func(), dying time.Duration) {
	for {
		word, err := l.words.ReadString('\n')
		switch {
		case err != nil:
			l.dead.Store(true)
			ask()
			time.AfterFunc(dying, func() { signals <- syscall.SIGKILL })
			return
		case word == wordStop:
			ask()
		case word == wordForce:
			signals <- syscall.SIGKILL
		}
	}
}

// context is that of the child: it ends by signals alone.
func (l *line) context() context.Context { return context.Background() }

// report tells the program how tofu ended, if it is still there.
func (l *line) report(e Exit) {
	_ = l.SetWriteDeadline(time.Now().Add(time.Second))
	_ = json.NewEncoder(l).Encode(e)
}
