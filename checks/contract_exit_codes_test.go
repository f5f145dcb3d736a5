//go:build checks

package checks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// way is a way to call programs.
type way struct {
	name string
	argv []string
	dir  string
	env  []string
}

// TestContractExitCodes calls programs in every way there is and compares how
// they end, signals included.
func TestContractExitCodes(t *testing.T) {
	w := newWorld(t)
	key := w.dir + "/key"
	assert.NilError(t, child.Command{
		Path: "ssh-keygen", Args: []string{"-q", "-t", "ed25519", "-N", "", "-f", key}, Env: pairs(w.env),
	}.Run(t.Context()))
	public, err := os.ReadFile(key + ".pub")
	assert.NilError(t, err)
	module, err := toolchain.Module()
	assert.NilError(t, err)
	_, tools, _ := given(t)
	cache := t.TempDir()

	ways := func(changes map[string]string) []way {
		all := w.with(changes)
		delete(all, "PATH")
		delete(all, "HOME")
		all["MAGEFILE_CACHE"] = cache
		environment := tools.Environment(env.Process(), all)
		return []way{
			{"binary", []string{binary(t)}, w.dir, environment},
			{"mage", []string{"go", "tool", "mage"}, module, environment},
		}
	}
	reachable := map[string]string{
		"SSH_HOST": "127.0.0.1", "SSH_PORT": "1", "SSH_HOST_KEY": string(public), "SSH_KEY_FILE": key, "SSH_CONNECT_TIMEOUT": "5m",
	}
	for _, c := range []struct {
		name    string
		words   []string
		changes map[string]string
		code    report.Code
		says    string
	}{
		{"a system that is built", []string{"operator-web"}, nil, report.Healthy, ""},
		{"a target in any case", []string{"OPERATOR:WEB"}, nil, report.Healthy, ""},
		{"an unknown program", []string{"operator-ssh-wbe"}, nil, report.Usage, "operator-ssh-web"},
		{"an unknown target", []string{"operator:sshWbe"}, nil, report.Usage, "operator:sshWeb"},
		{"a typo among several", []string{"operator-web", "operator-ssh-wbe"}, nil, report.Usage, "operator-ssh-wbe"},
		{"missing coordinates", []string{"operator-ssh-web-apply"}, nil, report.Usage, "SSH_HOST"},
		{"missing coordinates of a whole group", []string{"operator:sshCombinedVerify"}, nil, report.Usage, "DB_SSH_HOST"},
		{"a check of missing coordinates", []string{"check", "operator-ssh-web-apply"}, nil, report.Usage, "SSH_HOST"},
		{"a check of good ones", []string{"check", "operator-ssh-web-verify"}, reachable, report.Healthy, ""},
		{"nobody there", []string{"operator-ssh-web-verify"}, reachable, report.Unknown, "connection refused"},
		{"nobody there, for the whole group", []string{"operator-all-verify"}, map[string]string{
			"WEB_SSH_HOST": "127.0.0.1", "WEB_SSH_PORT": "1", "WEB_SSH_HOST_KEY": string(public),
			"FORGE_SSH_HOST": "127.0.0.1", "FORGE_SSH_PORT": "1", "FORGE_SSH_HOST_KEY": string(public), "SSH_KEY_FILE": key,
		}, report.Unknown, "2 of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range ways(c.changes) {
				code, said := way.call(t.Context(), t, c.words...)
				assert.Equal(t, code, c.code, "by %s:\n%s", way.name, said)
				assert.Assert(t, strings.Contains(said, c.says), "by %s, %q is not in what it said:\n%s", way.name, c.says, said)
				if c.code == report.Usage {
					assert.Assert(t, !strings.Contains(said, "evaluate:"), "by %s, something was started:\n%s", way.name, said)
				}
			}
		})
	}

	for name, code := range map[string]report.Code{"no reader": report.Healthy, "no room": report.Failed} {
		t.Run(name, func(t *testing.T) {
			for _, way := range ways(map[string]string{"REPORT": w.dir + "/record"}) {
				assert.Equal(t, way.unheard(t, name, "operator-web"), code, "by %s", way.name)
				record, err := report.ReadRecord(w.dir + "/record")
				assert.NilError(t, err)
				assert.Equal(t, record.ExitCode, code, "by %s", way.name)
				assert.NilError(t, os.Remove(w.dir+"/record"))
			}
			reachable["REPORT"] = w.dir + "/record"
			for _, way := range ways(reachable) {
				assert.Equal(t, way.unheard(t, name, "operator-ssh-web-verify"), report.Unknown, "by %s", way.name)
				assert.NilError(t, os.Remove(w.dir+"/record"))
			}
		})
	}

	for name, signal := range map[string]syscall.Signal{"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			// A host that takes the connection and then says nothing.
			silent, err := net.Listen("tcp", "127.0.0.1:0")
			assert.NilError(t, err)
			defer func() { _ = silent.Close() }()
			reachable["SSH_PORT"] = strconv.Itoa(silent.Addr().(*net.TCPAddr).Port)
			for _, way := range ways(reachable) {
				if way.name == "mage" && signal != syscall.SIGINT {
					continue // go and mage end at the others before what they run; the README says so
				}
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					conn, err := silent.Accept()
					stop()
					if err == nil {
						<-t.Context().Done()
						_ = conn.Close()
					}
				}()
				way.signal(ctx, t, signal)
			}
		})
	}
}

// call calls programs and gives the exit code and what was said.
func (w way) call(ctx context.Context, t *testing.T, words ...string) (report.Code, string) {
	t.Helper()
	return w.run(ctx, t, syscall.SIGTERM, words...)
}

func (w way) run(ctx context.Context, t *testing.T, stop syscall.Signal, words ...string) (report.Code, string) {
	t.Helper()
	said := newWatched()
	err := child.Command{
		Path: w.argv[0], Args: append(w.argv[1:len(w.argv):len(w.argv)], words...), Dir: w.dir, Env: w.env,
		Stdout: said, Stderr: said, Signal: stop, Grace: time.Minute, // less than it would wait for the host
	}.Run(ctx)
	var failure *child.Error
	if err == nil {
		return report.Healthy, said.String()
	}
	assert.Assert(t, errors.As(err, &failure), "%v", err)
	return report.Code(failure.ExitCode), said.String()
}

// unheard calls programs whose whole output goes to a pipe without a reader, or to a
// full disk, and gives the exit code.
func (w way) unheard(t *testing.T, how string, words ...string) report.Code {
	t.Helper()
	to, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if how == "no reader" {
		var reader *os.File
		reader, to, err = os.Pipe()
		assert.NilError(t, err)
		assert.NilError(t, reader.Close())
	}
	assert.NilError(t, err)
	defer func() { _ = to.Close() }()
	// Its own streams, and not what internal/child reads for it.
	cmd := exec.CommandContext(t.Context(), w.argv[0], append(w.argv[1:len(w.argv):len(w.argv)], words...)...)
	cmd.Path, err = child.Find(w.argv[0], w.env)
	assert.NilError(t, err)
	cmd.Err, cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = nil, w.dir, w.env, to, to
	_ = cmd.Run() // its exit code is asked for below
	return report.Code(cmd.ProcessState.ExitCode())
}

// signal interrupts a program when it has started to connect.
func (w way) signal(ctx context.Context, t *testing.T, signal syscall.Signal) {
	t.Helper()
	code, said := w.run(ctx, t, signal, "operator-ssh-web-verify")
	assert.Equal(t, code, (&report.Interruption{Signal: signal}).Code(), "by %s:\n%s", w.name, said)
	assert.Assert(t, strings.Contains(said, "stopped by "+fmt.Sprint(map[syscall.Signal]string{
		syscall.SIGINT: "SIGINT", syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP",
	}[signal])), "by %s:\n%s", w.name, said)
}
