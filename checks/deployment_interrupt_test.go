//go:build checks

package checks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// stage is a step of a deployment that a module makes long enough to be
// interrupted in.
type stage struct {
	step string
	when string // the event after which it is interrupted, beside its start
	// module makes the step new and long; mark is on no other command line.
	module func(w *world, mark string) string
}

var stages = []stage{
	{"evaluate", "", func(_ *world, mark string) string {
		return strings.ReplaceAll(trivial, `"first\n"`, `
			toString (builtins.foldl' (a: _: builtins.foldl' (b: _: b + 1) a (builtins.genList (x: x) 10000)) `+mark+`
			(builtins.genList (x: x) 1000000))`)
	}},
	{"build", `building '`, func(_ *world, mark string) string {
		return strings.ReplaceAll(trivial, `.text = "first\n"`, `.source = derivation {
			name = "slow"; system = builtins.currentSystem or "x86_64-linux";
			builder = "${pkgs.busybox}/bin/busybox"; args = [ "sh" "-c" "sleep `+mark+`" ];
		}`)
	}},
	{"copy", `"kind":"progress"`, func(w *world, _ string) string {
		large := make([]byte, 32<<20)
		_, _ = rand.Read(large)
		w.write("operator/large", string(large))
		return strings.ReplaceAll(trivial, `.text = "first\n"`, `.source = ./large`)
	}},
	{"switch", "activating the configuration", func(w *world, mark string) string {
		w.write("operator/trivial.nix", trivial)
		return strings.ReplaceAll(slow, "ROUND", mark)
	}},
	{"verdict", "watching held.service", func(_ *world, mark string) string {
		return strings.Replace(strings.ReplaceAll(trivial, "first", mark), "  system.stateVersion", held+"  system.stateVersion", 1)
	}},
}

// TestDeploymentInterrupt interrupts a deployment in each of its steps, however
// it was called and whatever asks it to stop.
func TestDeploymentInterrupt(t *testing.T) {
	t.Parallel() // most of it is waiting
	w := newWorld(t)
	g := w.boot(guest.Container)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
	w.env["SSH_KEEPALIVE"] = "5s"
	w.env["SSH_CONFIRM_TIMEOUT"] = "10m" // a machine that waits for somebody does so until the test has looked at it
	_, tools, _ := given(t)
	module, err := toolchain.Module()
	assert.NilError(t, err)
	magefile := filepath.Join(t.TempDir(), "magefile")
	mage := tools.Environment(env.Process(), map[string]string{"MAGEFILE_CACHE": w.mageCache()})
	// What go tool mage needs is compiled here too, so that no run has to wait for it.
	for _, args := range [][]string{{"-compile", magefile}, {"-l"}} {
		assert.NilError(t, child.Command{
			Path: "go", Args: append([]string{"tool", "mage"}, args...), Dir: module, Env: mage, Stdout: io.Discard, Stderr: testWriter{t},
		}.Run(t.Context()))
	}

	number := 31_000_000 // of seconds, among other things
	for _, way := range []struct {
		name string
		argv []string
		stop func(p *process)
		code report.Code
	}{
		{"SIGINT to the binary", []string{binary(t), "operator-ssh-web-apply"}, (*process).interrupt, report.Interrupted},
		{"SIGTERM to the binary", []string{binary(t), "operator-ssh-web-apply"}, (*process).terminate, report.Terminated},
		{"SIGINT to a compiled magefile", []string{magefile, "operator:sshWebApply"}, (*process).interrupt, report.Interrupted},
		{"SIGTERM to a compiled magefile", []string{magefile, "operator:sshWebApply"}, (*process).terminate, report.Terminated},
		{"Ctrl-C under go tool mage", []string{"go", "tool", "mage", "operator:sshWebApply"}, (*process).ctrlC, report.Interrupted},
	} {
		for _, stage := range stages {
			t.Run(way.name+" in "+stage.step, func(t *testing.T) {
				w := w.as(t)
				number++
				mark := fmt.Sprint(number)
				w.write("operator/web.nix", stage.module(w, mark))
				before := w.on(g, hold+"; readlink -f /run/current-system")
				narrow := w.narrow(8 << 20)
				w.env = w.with(map[string]string{"SSH_PORT": narrow.port()})
				p := w.process(module, tools, way.argv...)
				p.await(`"kind":"step","program":"operator-ssh-web-apply","step":"` + stage.step + `"`)
				p.await(stage.when)
				if stage.step == "copy" {
					narrow.await(t)
				}
				asked := time.Now()
				way.stop(p)
				assert.Equal(t, p.wait(), way.code, "%s", p.said)
				assert.Assert(t, time.Since(asked) < time.Minute, "it took %s to end", time.Since(asked))
				assert.Assert(t, strings.Contains(p.said.String(), "stopped by SIG"), "%s", p.said)
				p.leavesNothing(mark)
				w.leftThere(g, stage.step, before, mark)
			})
		}
	}
	w.write("operator/web.nix", trivial)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-apply").code, report.Healthy)
}

// leftThere looks at what an interruption left on the machine.
func (w *world) leftThere(g *guest.Guest, step, before, mark string) {
	w.t.Helper()
	const units = "systemctl list-units --all --plain --no-legend --state=active,activating 'slipway-*'"
	poll.WaitOn(w.t, func(poll.LogT) poll.Result {
		if left := w.on(g, "pgrep -a nix-store || true"); left != "" {
			return poll.Continue("still there: %s", left)
		}
		return poll.Success()
	}, poll.WithTimeout(2*time.Minute))
	w.unlocked(g)
	switch step {
	case "verdict":
		assert.Assert(w.t, strings.HasPrefix(w.on(g, units), "slipway-guard"), "the machine waits for somebody")
		w.on(g, letGo)
		next := w.slipway(nil, "operator-ssh-web-apply")
		assert.Equal(w.t, next.code, report.Healthy)
		assert.Assert(w.t, strings.Contains(next.stderr, "this run has confirmed it"), next.stderr)
		assert.Equal(w.t, w.on(g, "cat /etc/motd-of-check"), mark)
	case "switch":
		assert.Assert(w.t, strings.Contains(w.on(g, units), "slipway-switch"), "the switch goes on")
		next := w.startFree(g)
		next.await("an earlier run left the switch")
		w.on(g, "touch /run/go-on")
		assert.Equal(w.t, next.wait().code, report.Healthy)
		assert.Equal(w.t, w.on(g, "cat /etc/round"), mark)
	default:
		poll.WaitOn(w.t, func(poll.LogT) poll.Result {
			if left := w.on(g, units); left != "" {
				return poll.Continue("still there: %s", left)
			}
			return poll.Success()
		}, poll.WithTimeout(2*time.Minute))
		assert.Equal(w.t, w.on(g, "readlink -f /run/current-system"), before, "the machine was not touched")
	}
}

// process is a run that gets its signals one process at a time, or by what is
// typed at its terminal.
type process struct {
	w    *world
	cmd  *exec.Cmd
	tty  *os.File // where it has one
	said *watched
	tmp  string // its TMPDIR, which all of its children have
	read chan struct{}
	done chan struct{}
}

// process starts a run. What is run by go needs a terminal: it is Ctrl-C that
// reaches everybody, not a signal.
func (w *world) process(module string, tools toolchain.Keys, argv ...string) *process {
	w.t.Helper()
	p := &process{w: w, said: newWatched(), tmp: w.t.TempDir(), read: make(chan struct{}), done: make(chan struct{})}
	all := w.with(map[string]string{"PROGRESS": "json", "TMPDIR": p.tmp, "MAGEFILE_CACHE": w.mageCache()})
	environment := pairs(all)
	if argv[0] == "go" {
		delete(all, "PATH")
		delete(all, "HOME")
		environment = tools.Environment(env.Process(), all)
	}
	path, err := child.Find(argv[0], environment)
	assert.NilError(w.t, err)
	p.cmd = exec.Command(path, argv[1:]...)
	p.cmd.Env, p.cmd.Dir = environment, module
	if argv[0] == "go" {
		p.tty, err = pty.Start(p.cmd)
		assert.NilError(w.t, err)
		go func() { defer close(p.read); _, _ = io.Copy(p.said, p.tty) }()
	} else {
		close(p.read)
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		p.cmd.Stdout, p.cmd.Stderr = p.said, p.said
		assert.NilError(w.t, p.cmd.Start())
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its exit code is asked for later
		p.said.end()
	}()
	w.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if p.tty != nil {
			_ = p.tty.Close()
		}
	})
	return p
}

// mageCache is where go tool mage leaves what it compiled.
func (w *world) mageCache() string { return filepath.Join(w.dir, "mage") }

func (p *process) interrupt() { _ = p.cmd.Process.Signal(syscall.SIGINT) }

func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

func (p *process) ctrlC() { _, _ = p.tty.WriteString("\x03") }

func (p *process) await(text string) { p.w.t.Helper(); p.said.await(p.w.t, text) }

func (p *process) wait() report.Code {
	<-p.done
	<-p.read
	return report.Code(p.cmd.ProcessState.ExitCode())
}

// leavesNothing looks for processes of the run: those with its TMPDIR, and what
// a build of it runs.
func (p *process) leavesNothing(mark string) {
	p.w.t.Helper()
	poll.WaitOn(p.w.t, func(poll.LogT) poll.Result {
		all, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return poll.Error(err)
		}
		for _, dir := range all {
			environment, err := os.ReadFile(filepath.Join(dir, "environ"))
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue
			}
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			if strings.Contains(string(environment), "TMPDIR="+p.tmp+"\x00") || strings.Contains(string(line), mark) {
				return poll.Continue("%s is alive: %q", dir, line)
			}
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
}
