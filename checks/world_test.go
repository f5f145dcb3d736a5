//go:build checks

package checks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// world is what one check has: the binary as a user would have it, a module
// source of its own, and a cache of its own, so that nothing is found that the
// check did not make.
type world struct {
	t      *testing.T
	dir    string
	source string // the module source, to be changed
	env    map[string]string
	binary string                   // of the programs, where it is not slipway itself
	enter  []string                 // what comes before it, to run it in another network
	listen func(func() error) error // calls what listens there; nil means here
}

// keys are what the tests of this folder read.
type keys struct {
	Guest   string   `env:"CHECKS_GUEST" oneof:"vm,container" desc:"kind of guest, instead of what each check is made for"`
	Nixpkgs env.Path `env:"CHECKS_NIXPKGS" desc:"a real nixpkgs"`
}

func given(t *testing.T) (keys, toolchain.Keys, string) {
	t.Helper()
	var k keys
	var tools toolchain.Keys
	assert.NilError(t, env.Process().Load(t.Context(), env.For{}, &k, &tools))
	cache, err := env.Process().CacheDir()
	assert.NilError(t, err)
	return k, tools, cache
}

// commands is a folder for what is built of this module.
var commands = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "slipway-checks-") })

var built = sync.OnceValues(func() (string, error) { return buildCommand("./cmd/slipway") })

// buildCommand builds a main package of this module.
func buildCommand(path string) (string, error) {
	dir, err := commands()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, filepath.Base(path))
	var tools toolchain.Keys
	if err := env.Process().Load(context.Background(), env.For{}, &tools); err != nil {
		return "", err
	}
	module, err := toolchain.Module()
	if err != nil {
		return "", err
	}
	return binary, child.Command{
		Path: "go", Args: []string{"build", "-o", binary, path}, Dir: module,
		Env: tools.Environment(env.Process(), nil),
	}.Run(context.Background())
}

// binary is the program under test.
func binary(t *testing.T) string {
	t.Helper()
	path, err := built()
	assert.NilError(t, err)
	return path
}

func TestMain(m *testing.M) {
	disposition.Default()
	code := m.Run()
	if dir, err := commands(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// trivial is the NixOS module of the host that checks deploy.
const trivial = `{ pkgs, ... }:
{
  systemd.services.trivial = {
    description = "Trivial service of a check";
    wantedBy = [ "multi-user.target" ];
    serviceConfig.ExecStart = "${pkgs.busybox}/bin/busybox sleep 1000000";
  };
  environment.etc."motd-of-check".text = "first\n";
  system.stateVersion = "25.05";
}
`

// newWorld makes a world whose module source has trivial as the operator's web.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	w.source = filepath.Join(w.dir, "source")
	w.write("operator/web.nix", trivial)
	stand, err := nixpkgs.Unpack(t.Context(), filepath.Join(w.dir, "nixpkgs"), nixpkgs.DefaultBusybox)
	if errors.Is(err, nixpkgs.ErrBusybox) {
		t.Skip("missing part: busybox-static")
	}
	assert.NilError(t, err)
	w.env = map[string]string{
		"PATH":               "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":               w.dir,
		"CACHE_DIR":          filepath.Join(w.dir, "cache"),
		"NIXPKGS":            stand,
		"DNS_DOMAIN":         "example.org",
		"SELF_MODULE_SOURCE": w.source,
	}
	return w
}

// write puts a file into the module source.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.source, name)
	assert.NilError(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
	assert.NilError(w.t, os.WriteFile(path, []byte(text), 0o644))
}

// boot boots a guest and points the coordinates at it.
func (w *world) boot(kind guest.Kind) *guest.Guest {
	w.t.Helper()
	return w.bootAs(guest.Options{Kind: kind, Name: "web"}, "")
}

// bootSuite boots a container of another release of Debian.
func (w *world) bootSuite(suite debian.Suite) *guest.Guest {
	w.t.Helper()
	return w.bootAs(guest.Options{Kind: guest.Container, Name: "web", Suite: suite}, "")
}

// bootAs boots a guest and points the coordinates that begin with a prefix at it.
func (w *world) bootAs(o guest.Options, prefix string) *guest.Guest {
	w.t.Helper()
	k, _, cache := given(w.t)
	if k.Guest != "" {
		o.Kind = guest.Kind(k.Guest)
	}
	if missing := guest.Missing(o.Kind); len(missing) > 0 {
		w.t.Skipf("missing part: %s", missing[0])
	}
	o.Dir, o.Cache = filepath.Join(w.dir, "guest-"+o.Name), filepath.Join(cache, "guest")
	o.MemoryMiB, o.Log = 512, testWriter{w.t}
	if o.DiskMiB == 0 {
		o.DiskMiB = 2048
	}
	g, err := guest.Boot(w.t.Context(), o)
	assert.NilError(w.t, err)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("console of the guest:\n%s", g.Console())
		}
		assert.Check(w.t, g.Close())
	})
	access := g.Access()
	for key, value := range map[string]string{
		"SSH_HOST": access.Host, "SSH_PORT": strconv.Itoa(access.Port), "SSH_USER": access.User,
		"SSH_HOST_KEY": access.HostKey, "SSH_KEY_FILE": access.KeyFile,
	} {
		w.env[prefix+key] = value
	}
	if o.Kind == guest.VM {
		// Without acceleration, and on a busy host, a login was seen to take 20 s.
		w.env[prefix+"SSH_CONNECT_TIMEOUT"], w.env[prefix+"SSH_CONFIRM_TIMEOUT"] = "1m", "5m"
	}
	return g
}

// testWriter logs what is written to it.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// outcome is what a user sees of a run.
type outcome struct {
	code   report.Code
	stdout string
	stderr string
	record *report.Record
	took   time.Duration
}

// with gives the world's environment with some variables changed; an empty
// value takes one out.
func (w *world) with(changes map[string]string) map[string]string {
	all := maps.Clone(w.env)
	for name, value := range changes {
		if value == "" {
			delete(all, name)
		} else {
			all[name] = value
		}
	}
	return all
}

func pairs(environment map[string]string) []string {
	var list []string
	for name, value := range environment {
		list = append(list, name+"="+value)
	}
	return list
}

// slipway runs the binary to its end.
func (w *world) slipway(changes map[string]string, args ...string) outcome {
	w.t.Helper()
	return w.start(changes, args...).wait()
}

// running is a run of the binary that goes on.
type running struct {
	w      *world
	stop   context.CancelFunc
	stderr *watched
	stdout *bytes.Buffer
	ended  chan error
	record string
	pid    string // file with the number of the process
	began  time.Time
	args   []string
}

func (w *world) start(changes map[string]string, args ...string) *running {
	w.t.Helper()
	environment := w.with(changes)
	r := &running{
		w: w, stderr: newWatched(), stdout: &bytes.Buffer{}, ended: make(chan error, 1),
		began: time.Now(), args: args,
	}
	dir := w.t.TempDir()
	r.record, r.pid = filepath.Join(dir, "record.json"), filepath.Join(dir, "pid")
	environment["REPORT"] = r.record
	ctx, stop := context.WithCancel(w.t.Context())
	r.stop = stop
	w.t.Cleanup(stop)
	path := w.binary
	if path == "" {
		path = binary(w.t)
	}
	go func() {
		r.ended <- child.Command{
			Path: "/bin/sh", Args: slices.Concat([]string{"-c", `echo $$ >"$0"; exec "$@"`, r.pid}, w.enter, []string{path}, args),
			Env: pairs(environment), Dir: w.dir,
			Stdout: r.stdout, Stderr: r.stderr, Grace: time.Minute,
		}.Run(ctx)
		r.stderr.end()
	}()
	return r
}

// signal sends a signal to a run.
func (r *running) signal(sig syscall.Signal) {
	r.w.t.Helper()
	text, err := os.ReadFile(r.pid)
	assert.NilError(r.w.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	assert.NilError(r.w.t, err)
	assert.NilError(r.w.t, syscall.Kill(pid, sig))
}

// kill ends a run as nobody can prepare for (SIGKILL).
func (r *running) kill() {
	r.w.t.Helper()
	r.signal(syscall.SIGKILL)
	assert.Assert(r.w.t, <-r.ended != nil)
	r.stop()
}

func (r *running) wait() outcome {
	r.w.t.Helper()
	err := <-r.ended
	r.stop()
	o := outcome{record: &report.Record{}, stdout: r.stdout.String(), stderr: r.stderr.String(), took: time.Since(r.began)}
	var failure *child.Error
	if err != nil {
		assert.Assert(r.w.t, errors.As(err, &failure), "%v", err)
		o.code = report.Code(failure.ExitCode)
	}
	if text, err := os.ReadFile(r.record); err == nil {
		assert.NilError(r.w.t, json.Unmarshal(text, o.record))
		valid(r.w.t, report.RecordSchema, text)
		assert.Equal(r.w.t, o.record.ExitCode, o.code)
	}
	r.w.t.Logf("slipway %s: exit %d after %.1f s\n%s%s", strings.Join(r.args, " "), o.code, o.took.Seconds(), o.stderr, o.stdout)
	return o
}

// watched is a writer in which a test can wait for a text.
type watched struct {
	mu      sync.Mutex
	changed *sync.Cond
	buf     bytes.Buffer
	closed  bool
}

func newWatched() *watched {
	w := &watched{}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	return w.buf.Write(p)
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}

// await waits until a run has said something.
func (r *running) await(text string) {
	r.w.t.Helper()
	r.stderr.await(r.w.t, text)
}

// end says that nothing more will be written.
func (w *watched) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.changed.Broadcast()
}

// await waits until something was written.
func (w *watched) await(t *testing.T, text string) {
	t.Helper()
	stop := context.AfterFunc(t.Context(), w.changed.Broadcast)
	defer stop()
	timer := time.AfterFunc(5*time.Minute, w.end) // a host may have to compile first
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for !strings.Contains(w.buf.String(), text) {
		if w.closed || t.Context().Err() != nil {
			t.Fatalf("the run never said %q:\n%s", text, w.buf.String())
		}
		w.changed.Wait()
	}
}

// tryOn tells whether a script on the guest ended well.
func (w *world) tryOn(g *guest.Guest, script string) bool {
	w.t.Helper()
	_, err := w.witness(g, script)
	return err == nil
}

// transport is ssh's exit code when it could not log in or lost the connection.
const transport = 255

// on runs a script on the guest with the ssh of the host, as a witness that is
// none of ours. On a busy host a login may fail: it is tried again.
func (w *world) on(g *guest.Guest, script string) string {
	w.t.Helper()
	var out string
	var failed error
	login := wait.For{What: "a login of the witness", Limit: 2 * time.Minute, Interval: 500 * time.Millisecond}
	err := login.Until(w.t.Context(), func(context.Context) error {
		out, failed = w.witness(g, script)
		if failure, ok := errors.AsType[*child.Error](failed); ok && failure.ExitCode == transport {
			w.t.Logf("once more: %s", failed)
			return failed
		}
		return nil
	})
	assert.NilError(w.t, err)
	assert.NilError(w.t, failed, "%s", out)
	return strings.TrimSpace(out)
}

func (w *world) witness(g *guest.Guest, script string) (string, error) {
	w.t.Helper()
	out, err := w.ssh(g, script).Output(w.t.Context())
	return string(out), err
}

// ssh is a script on the guest, to be run.
func (w *world) ssh(g *guest.Guest, script string) child.Command {
	w.t.Helper()
	access := g.Access()
	known := filepath.Join(w.dir, "known_hosts")
	line := fmt.Sprintf("[%s]:%d %s\n", access.Host, access.Port, access.HostKey)
	assert.NilError(w.t, os.WriteFile(known, []byte(line), 0o600))
	return child.Command{
		Path: "ssh", Env: pairs(w.env), Args: []string{
			"-F", "none", "-q", "-i", access.KeyFile, "-p", strconv.Itoa(access.Port),
			"-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + known, "-o", "ConnectTimeout=20",
			// A guest that reboots may forget a connection without a word.
			"-o", "ServerAliveInterval=10", "-o", "ServerAliveCountMax=4",
			access.User + "@" + access.Host, script,
		},
	}
}

var _ io.Writer = testWriter{}

// cameUp waits until a guest has booted anew.
func (w *world) cameUp(g *guest.Guest, before string) {
	w.t.Helper()
	poll.WaitOn(w.t, func(poll.LogT) poll.Result {
		now, err := w.witness(g, "cat /proc/sys/kernel/random/boot_id")
		if err != nil || strings.TrimSpace(now) == before {
			return poll.Continue("it has not come up yet")
		}
		return poll.Success()
	}, poll.WithTimeout(5*time.Minute), poll.WithDelay(200*time.Millisecond))
}
