// Package supervisor stands between the program and OpenTofu, as a process of its
// own: the program's own binary, called by another name.
//
// OpenTofu needs time to stop and somebody who reads what it says. When it loses
// either it loses state: a parent that dies takes it along, a pipe without a
// reader kills it, a second SIGINT makes it exit at once. The supervisor outlives
// the program for as long as tofu takes to end well, hands on exactly one SIGINT,
// reads to the end, and writes what was made where the next run finds it.
package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// Name is the file name under which this program is the supervisor, and
// settingName that of its Setting, in the same folder.
const (
	Name        = "slipway-tofu"
	settingName = "slipway-tofu.json"
)

// Reattach is the variable that tells OpenTofu of providers that the program serves.
const Reattach = "TF_REATTACH_PROVIDERS"

// Setting is what a supervisor must know. It lies in a file, but for Env, which is
// told over the line: secrets outlive nobody there.
type Setting struct {
	Tofu    string            // absolute path
	Version string            // what to answer for it, which saves a start
	Lock    string            // file to lock while tofu runs
	Process string            // file that names tofu's process
	Events  string            // where an apply's events go
	Control string            // socket in the same folder
	Env     map[string]string `json:"-"` // added to tofu's environment: what terraform-exec refuses to
	Dying   time.Duration     // how long tofu may take once the program has died
}

// called tells whether the program was started under the supervisor's name.
func called(args []string) bool { return len(args) > 0 && filepath.Base(args[0]) == Name }

// Main is the supervisor, when the program is called by its name; otherwise ours
// is false. A main calls it before everything else, with its own arguments, and
// exits with code.
func Main(args []string) (code int, ours bool) {
	if !called(args) {
		return 0, false
	}
	deafen()
	code, err := supervise(args, env.Inherited())
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "supervise OpenTofu:", err)
	}
	return code, true
}

// notRun is the exit code of a supervisor that did not run tofu.
const notRun = 125

func supervise(args, environment []string) (int, error) {
	folder := filepath.Dir(args[0])
	text, err := os.ReadFile(filepath.Join(folder, settingName))
	if err != nil {
		return notRun, err
	}
	var s Setting
	if err := json.Unmarshal(text, &s); err != nil {
		return notRun, err
	}
	if slices.Equal(args[1:], []string{"version", "-json"}) {
		return 0, json.NewEncoder(os.Stdout).Encode(map[string]any{
			"terraform_version": s.Version, "platform": "linux", "provider_selections": map[string]string{},
		})
	}
	lock, err := hold(s.Lock)
	if err != nil {
		return notRun, err
	}
	defer func() { _ = lock.Close() }()
	line, err := dial(folder, s.Control)
	if err != nil {
		return notRun, fmt.Errorf("reach the program: %w", err)
	}
	defer func() { _ = line.Close() }()
	return s.run(args[1:], environment, line)
}

// hold takes the lock that says that a tofu is at work. The one before is given
// back when its supervisor has ended, which terraform-exec waits for; so whoever
// holds it now belongs to another run.
func hold(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return file, nil
}

func (s *Setting) run(args, environment []string, line *line) (int, error) {
	var allowed bool
	if s.Env, allowed = line.allowed(); !allowed {
		return notRun, errors.New("the program that wanted it is gone")
	}
	for name, value := range s.Env {
		environment = append(environment, name+"="+value)
	}
	dir, err := os.Getwd()
	if err != nil {
		return notRun, err
	}
	signals := make(chan syscall.Signal, 4)
	// One only: a second makes OpenTofu exit at once.
	ask := sync.OnceFunc(func() { signals <- syscall.SIGINT })
	go line.listen(signals, ask, s.Dying)
	events := &events{failed: ask}
	if slices.Contains(args, "-json") && args[0] == "apply" && s.Events != "" {
		if err := events.open(s.Events); err != nil {
			return notRun, err
		}
	}
	err = child.Command{
		Path: s.Tofu, Args: args, Env: environment, Dir: dir, Stdin: os.Stdin,
		Stdout: io.MultiWriter(events, deaf{os.Stdout}), Stderr: deaf{os.Stderr},
		Signals: signals, Orphan: syscall.SIGINT, Grace: 2 * time.Second, Drain: writing,
		Started: func(pid int) { note(s.Process, pid) },
	}.Run(line.context())
	_ = os.Remove(s.Process)
	code, ended := 0, true
	if err != nil {
		code, ended = outcome(err)
	}
	// A provider that the program served died with it: what it was making then is
	// of unknown fate, whatever OpenTofu says.
	if _, served := s.Env[Reattach]; served && line.dead.Load() {
		ended = false
	}
	last := Exit{Code: code, ByItself: ended}
	if err = events.close(ended); err != nil {
		last.Unwritten = err.Error()
	}
	line.report(last)
	return code, err
}

// writing is how long the disk may take what a tofu said before it ended.
const writing = time.Minute

// outcome is the exit code of tofu, and whether it ended by itself.
func outcome(err error) (int, bool) {
	failed, ok := errors.AsType[*child.Error](err)
	switch {
	case !ok:
		return notRun, false
	case failed.ExitCode >= 0:
		return failed.ExitCode, true
	default:
		return 128 + int(syscall.SIGKILL), false
	}
}

// deafen leaves it to the program to say when tofu is to stop: a signal to the
// whole group, as a service manager sends, would reach tofu a second time by way
// of the program. And whoever reads us may be gone, which must not end us.
// Ignoring would be handed down to tofu; this is not.
func deafen() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
}

// deaf writes to somebody who may be gone.
type deaf struct{ to io.Writer }

func (d deaf) Write(p []byte) (int, error) {
	_, _ = d.to.Write(p)
	return len(p), nil
}
