//go:build checks

package integrations

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/methods/tofu/rundir"
	"fediversity.eu/slipway/methods/tofu/state"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// world is a deployment whose objects leave a trace when they are made and when
// they are removed, with a state backend and a program that deploys it.
type world struct {
	*fakestate.Backend

	t     *testing.T
	dir   string
	cache string
}

var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "slipway-integrations-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "tofurun")
	var tools toolchain.Keys
	if err := env.Process().Load(context.Background(), env.For{}, &tools); err != nil {
		return "", err
	}
	module, err := toolchain.Module()
	if err != nil {
		return "", err
	}
	return program, child.Command{
		Path: "go", Args: []string{"build", "-o", program, "./checks/tofurun"}, Dir: module,
		Env: tools.Environment(env.Process(), nil),
	}.Run(context.Background())
})

func TestMain(m *testing.M) {
	disposition.Default()
	code := m.Run()
	if path, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// opentofu finds or builds OpenTofu, once for all checks of this host.
var opentofu = sync.OnceValues(func() (*binary.Tofu, error) {
	var tools toolchain.Keys
	if err := env.Process().Load(context.Background(), env.For{}, &tools); err != nil {
		return nil, err
	}
	return binary.Find(context.Background(), env.Process(), binary.Keys{}, tools, report.NewLog(report.Plain(os.Stderr)))
})

// needTofu gives OpenTofu. Where there is none it is built, with the Go that these
// checks need anyway: a build that fails is a failure, and no missing part.
func needTofu(t testing.TB) *binary.Tofu {
	t.Helper()
	tofu, err := opentofu()
	assert.NilError(t, err)
	return tofu
}

// cacheDir is where the built OpenTofu is.
func cacheDir() (string, error) { return env.Process().CacheDir() }

func newWorld(t *testing.T, way string) *world {
	t.Helper()
	needTofu(t)
	_, err := built()
	assert.NilError(t, err)
	cache, err := cacheDir()
	assert.NilError(t, err)
	w := &world{Backend: fakestate.New(way), t: t, dir: t.TempDir(), cache: cache}
	t.Cleanup(w.Close)
	assert.NilError(t, os.MkdirAll(filepath.Join(w.dir, "configuration"), 0o755))
	w.things(0)
	return w
}

// as is the world within a subtest.
func (w *world) as(t *testing.T) *world {
	own := *w
	own.t = t
	return &own
}

// trace is where objects say that they were made and removed.
func (w *world) trace() string { return filepath.Join(w.dir, "trace") }

// free is how many objects are made, and removed, also while the world holds.
const free = 4

// hold keeps all objects but the first from being made, and from being removed where
// that lasts, until let. So what a run is in the middle of does not depend on how
// fast it is.
func (w *world) hold() {
	w.t.Helper()
	assert.NilError(w.t, os.WriteFile(w.trace()+".hold", nil, 0o600))
}

// let ends hold.
func (w *world) let() { _ = os.Remove(w.trace() + ".hold") }

// slowly is how the shell takes i tenths of a second for the i-th object.
func (w *world) slowly() string {
	return fmt.Sprintf("sleep ${count.index / 10}; while [ ${count.index} -ge %d -a -e %s.hold ]; do sleep 0.05; done", free, w.trace())
}

// things configures n objects. The i-th takes i tenths of a second to be made, and
// then leaves its trace; one that is interrupted leaves none.
func (w *world) things(n int) {
	w.t.Helper()
	w.write(fmt.Sprintf(`
resource "terraform_data" "thing" {
  count = %d
  input = %q
  provisioner "local-exec" { command = "%s; echo + ${count.index} >> ${self.input}" }
  provisioner "local-exec" {
    when    = destroy
    command = "echo - ${count.index} >> ${self.input}"
  }
}
output "things" { value = %d }
`, n, w.trace(), w.slowly(), n))
}

func (w *world) write(text string) {
	w.t.Helper()
	assert.NilError(w.t, os.WriteFile(filepath.Join(w.dir, "configuration", "main.tf"), []byte(text), 0o644))
}

// there counts, for each object, how often it is there.
func (w *world) there() map[int]int {
	w.t.Helper()
	text, err := os.ReadFile(w.trace())
	if !errors.Is(err, os.ErrNotExist) {
		assert.NilError(w.t, err)
	}
	count := map[int]int{}
	for line := range strings.Lines(string(text)) {
		sign, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		i, err := strconv.Atoi(number)
		assert.NilError(w.t, err, "%q", line)
		if sign == "+" {
			count[i]++
		} else if count[i]--; count[i] == 0 {
			delete(count, i)
		}
	}
	return count
}

// each holds every one of n objects to be there exactly once.
func (w *world) each(n int) {
	w.t.Helper()
	count := w.there()
	for i := range n {
		assert.Equal(w.t, count[i], 1, "object %d is there %d times", i, count[i])
	}
	assert.Equal(w.t, len(count), n, "%v", count)
}

// sound holds the backend to have a state of n objects, and no lock.
func (w *world) sound(n int) {
	w.t.Helper()
	kind, s, err := state.Judge(w.State() != "", []byte(w.State()))
	assert.NilError(w.t, err)
	assert.Equal(w.t, kind, state.Sound, "%s", w)
	assert.Equal(w.t, len(s.Objects()), n)
	assert.Equal(w.t, w.Locked(), "")
}

// outcome is what became of a run.
type outcome struct {
	code   report.Code
	result struct {
		Lineage string
		Serial  uint64
		Plan    struct{ Add, Change, Remove int }
	}
	stdout, stderr string
}

// running is a run that goes on.
type running struct {
	w       *world
	pid     chan int
	signals chan syscall.Signal
	done    chan struct{}
	outcome outcome

	mu  sync.Mutex
	err bytes.Buffer
	out bytes.Buffer
}

// settings are a run's variables; Phase and the like.
type settings map[string]string

// elsewhere is another boot of another host, with nothing that this one has.
func (w *world) elsewhere(more settings) settings {
	s := settings{"TOFURUN_ELSEWHERE": "yes", "STATE_DIR": filepath.Join(w.t.TempDir(), "elsewhere")}
	maps.Copy(s, more)
	return s
}

// start starts a run.
func (w *world) start(s settings, verb string, args ...string) *running {
	w.t.Helper()
	program, err := built()
	assert.NilError(w.t, err)
	all := w.Environment()
	all["PATH"], all["HOME"], all["CACHE_DIR"] = "/usr/local/bin:/usr/bin:/bin", w.dir, w.cache
	all["STATE_DIR"], all["TMPDIR"] = filepath.Join(w.dir, "state"), w.dir
	maps.Copy(all, s)
	var entries []string
	for name, value := range all {
		entries = append(entries, name+"="+value)
	}
	r := &running{w: w, pid: make(chan int, 1), signals: make(chan syscall.Signal, 4), done: make(chan struct{})}
	command := child.Command{
		Path: program, Args: append([]string{verb, filepath.Join(w.dir, "configuration")}, args...), Env: entries, Dir: w.dir,
		Stdout: locked{r, &r.out}, Stderr: locked{r, &r.err}, Signals: r.signals,
		Started: func(pid int) { r.pid <- pid },
	}
	go func() {
		defer close(r.done)
		err := command.Run(context.WithoutCancel(w.t.Context()))
		if failed, ok := errors.AsType[*child.Error](err); ok {
			r.outcome.code = report.Code(failed.ExitCode)
		}
	}()
	w.t.Cleanup(func() {
		w.let() // a test that failed may have left it
		<-r.done
	})
	return r
}

type locked struct {
	r  *running
	to *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.r.mu.Lock()
	defer l.r.mu.Unlock()
	return l.to.Write(p)
}

// heard waits until the program says that it has taken notice of a signal, or ends.
func (r *running) heard() {
	_ = wait.For{What: "a signal to be heard", Limit: limit, Interval: 10 * time.Millisecond}.Until(r.w.t.Context(), func(context.Context) error {
		select {
		case <-r.done:
			return nil
		default:
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if contains(r.err.String(), "heard ") {
			return nil
		}
		return errors.New("not yet")
	})
}

// wait waits for its end.
func (r *running) wait() outcome {
	r.w.t.Helper()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcome.stdout, r.outcome.stderr = r.out.String(), r.err.String()
	_ = json.Unmarshal(r.out.Bytes(), &r.outcome.result)
	r.w.t.Logf("exit %d\n%s", r.outcome.code, r.outcome.stderr)
	return r.outcome
}

// run runs to the end.
func (w *world) run(s settings, verb string, args ...string) outcome {
	w.t.Helper()
	return w.start(s, verb, args...).wait()
}

// must runs to a good end.
func (w *world) must(s settings, verb string, args ...string) outcome {
	w.t.Helper()
	o := w.run(s, verb, args...)
	assert.Equal(w.t, o.code, report.Healthy, "%s", o.stderr)
	return o
}

// kill ends the program alone, as the kernel does when memory is short.
func (r *running) kill() { r.signals <- syscall.SIGKILL }

// limit guards against what never comes.
const limit = 5 * time.Minute

// done waits until OpenTofu has said of n objects that it made, or removed, them: one
// that has left its trace a moment ago may not have come to that.
func (w *world) done(n int) {
	w.t.Helper()
	w.until("what OpenTofu made", func() bool {
		paths, _ := filepath.Glob(filepath.Join(w.dir, "state", "events-*.jsonl"))
		told := 0
		for _, path := range paths {
			text, _ := os.ReadFile(path)
			told += strings.Count(string(text), `"apply_complete"`)
		}
		return told >= n
	})
}

// quiet waits until nothing is left at work of a run that was killed.
func (w *world) quiet() {
	w.t.Helper()
	dir := filepath.Join(w.dir, "state")
	w.until("the end of OpenTofu", func() bool {
		file, err := os.Open(filepath.Join(dir, "tofu.lock"))
		if err != nil {
			return errors.Is(err, os.ErrNotExist)
		}
		defer func() { _ = file.Close() }()
		name, _ := os.ReadFile(filepath.Join(dir, "tofu.pid"))
		return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil && !rundir.Lives(string(name))
	})
}

// until waits for what a run brings about.
func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	poll.WaitOn(w.t, func(poll.LogT) poll.Result {
		if is() {
			return poll.Success()
		}
		return poll.Continue("%s", what)
	}, poll.WithTimeout(limit), poll.WithDelay(10*time.Millisecond))
}

// cold is the phase of a deployment that was never made.
var cold = settings{"STATE_PHASE": "cold"}
