//go:build checks

package integrations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/methods/tofu"
	"fediversity.eu/slipway/targets/report"
)

// BenchmarkApply measures what the guard costs: init, plan and apply by OpenTofu
// alone over an HTTP backend, and the same by a run, one after the other so that a
// busy host burdens both.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 3000} {
		for _, kind := range []string{"create", "no changes", "one changed", "plan alone"} {
			b.Run(fmt.Sprintf("%d objects, %s", n, kind), func(b *testing.B) {
				var alone, guarded spent
				for b.Loop() {
					w := newBenchWorld(b, n)
					s, verb := settings{}, tofu.Apply
					prepare := func() {}
					switch kind {
					case "create":
						s, prepare = cold, func() { w.Set(nil, nil) }
					case "no changes":
						w.bare(b, tofu.Apply)
						w.forget(b)
					case "one changed":
						w.bare(b, tofu.Apply)
						before := w.State()
						w.configure(b, n, "changed")
						w.forget(b)
						prepare = func() { w.Set([]byte(before), nil) }
					case "plan alone":
						w.bare(b, tofu.Apply)
						w.forget(b)
						verb = tofu.PlanVerb
					}
					alone.add(b, func() { w.bare(b, verb) })
					prepare()
					guarded.add(b, func() { w.guarded(b, s, verb) })
				}
				b.ReportMetric(float64(alone.wall.Milliseconds())/float64(b.N), "bare-ms/op")
				b.ReportMetric(float64(guarded.wall.Milliseconds())/float64(b.N), "run-ms/op")
				b.ReportMetric(float64(guarded.wall)/float64(alone.wall), "ratio")
				b.ReportMetric(float64(guarded.cpu)/float64(alone.cpu), "cpu-ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// spent is what something took of the time, and of the processors.
type spent struct{ wall, cpu time.Duration }

func (s *spent) add(b *testing.B, work func()) {
	b.Helper()
	started, used := time.Now(), cpu(b)
	work()
	s.wall, s.cpu = s.wall+time.Since(started), s.cpu+cpu(b)-used
}

// cpu is what all children that have ended used of the processors: on a busy host
// it is the steadier figure.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	assert.NilError(b, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// benchWorld is a deployment of objects that cost nothing.
type benchWorld struct {
	*fakestate.Backend

	dir, cache string
}

func newBenchWorld(b *testing.B, n int) *benchWorld {
	b.Helper()
	needTofu(b)
	_, err := built()
	assert.NilError(b, err)
	w := &benchWorld{Backend: fakestate.New(fakestate.Strict), dir: b.TempDir()}
	b.Cleanup(w.Close)
	w.cache, err = cacheDir()
	assert.NilError(b, err)
	assert.NilError(b, os.MkdirAll(filepath.Join(w.dir, "configuration"), 0o755))
	w.configure(b, n, "first")
	w.forget(b)
	return w
}

// configure declares n objects; the last has a word of its own.
func (w *benchWorld) configure(b *testing.B, n int, word string) {
	b.Helper()
	text := ""
	for block := range max(1, n/100) {
		text += fmt.Sprintf("resource \"terraform_data\" \"thing%d\" {\n  count = %d\n  input = %d + count.index == %d ? %q : count.index\n}\n",
			block, min(n, 100), 100*block, n-1, word)
	}
	assert.NilError(b, os.WriteFile(filepath.Join(w.dir, "configuration", "main.tf"), []byte(text), 0o600))
}

// forget gives OpenTofu alone a folder that it has not seen.
func (w *benchWorld) forget(b *testing.B) {
	b.Helper()
	dir := filepath.Join(w.dir, "bare")
	assert.NilError(b, os.RemoveAll(dir))
	assert.NilError(b, os.CopyFS(dir, os.DirFS(filepath.Join(w.dir, "configuration"))))
	assert.NilError(b, os.WriteFile(filepath.Join(dir, "backend.tf"), []byte("terraform {\n  backend \"http\" {}\n}\n"), 0o600))
}

func (w *benchWorld) command(b *testing.B, path, dir string, s settings, args ...string) {
	b.Helper()
	out, err := w.child(path, dir, s, args...).Output(b.Context())
	assert.NilError(b, err, "%s", out)
}

func (w *benchWorld) child(path, dir string, s settings, args ...string) child.Command {
	all := w.Environment()
	all["PATH"], all["HOME"], all["CACHE_DIR"] = "/usr/bin:/bin", w.dir, w.cache
	all["STATE_DIR"] = filepath.Join(w.dir, "state")
	maps.Copy(all, s)
	var entries []string
	for name, value := range all {
		entries = append(entries, name+"="+value)
	}
	return child.Command{Path: path, Args: args, Env: entries, Dir: dir}
}

func (w *benchWorld) bare(b *testing.B, verb string) {
	b.Helper()
	path := needTofu(b).Path
	dir := filepath.Join(w.dir, "bare")
	s := settings{"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.DevNull}
	w.command(b, path, dir, s, "init", "-input=false", "-no-color")
	w.command(b, path, dir, s, "plan", "-input=false", "-no-color", "-out=plan")
	if verb == tofu.Apply {
		w.command(b, path, dir, s, "apply", "-input=false", "-no-color", "plan")
	}
}

func (w *benchWorld) guarded(b *testing.B, s settings, verb string) {
	b.Helper()
	program, err := built()
	assert.NilError(b, err)
	w.command(b, program, w.dir, s, verb, filepath.Join(w.dir, "configuration"))
}

// BenchmarkRefusal measures how long it takes to refuse a state that is lost.
func BenchmarkRefusal(b *testing.B) {
	w := newBenchWorld(b, 1)
	program, err := built()
	assert.NilError(b, err)
	for b.Loop() {
		_, err := w.child(program, w.dir, nil, "apply", filepath.Join(w.dir, "configuration")).Output(b.Context())
		failed, ok := errors.AsType[*child.Error](err)
		assert.Assert(b, ok && report.Code(failed.ExitCode) == report.Refused, "%v", err)
	}
}

// BenchmarkStop measures the time from a signal to the end of a run, its state
// written and its lock given back, while a hundred objects are being made.
func BenchmarkStop(b *testing.B) {
	w := newBenchWorld(b, 1)
	program, err := built()
	assert.NilError(b, err)
	began := filepath.Join(w.dir, "began")
	assert.NilError(b, os.WriteFile(filepath.Join(w.dir, "configuration", "main.tf"), fmt.Appendf(nil, `
resource "terraform_data" "thing" {
  count = 100
}
resource "terraform_data" "slow" {
  depends_on = [terraform_data.thing]
  provisioner "local-exec" { command = "touch %s; sleep 1000" }
}`, began), 0o600))
	var took time.Duration
	for b.Loop() {
		w.Set(nil, nil)
		assert.NilError(b, os.RemoveAll(began))
		run := w.child(program, w.dir, cold, "apply", filepath.Join(w.dir, "configuration"))
		signals, ended := make(chan syscall.Signal, 1), make(chan error, 1)
		run.Signals = signals
		go func() { ended <- run.Run(context.WithoutCancel(b.Context())) }()
		poll.WaitOn(b, func(poll.LogT) poll.Result {
			if _, err := os.Stat(began); err != nil {
				return poll.Continue("an object that takes its time")
			}
			return poll.Success()
		}, poll.WithTimeout(time.Minute), poll.WithDelay(10*time.Millisecond))
		started := time.Now()
		signals <- syscall.SIGTERM
		failed, ok := errors.AsType[*child.Error](<-ended)
		took += time.Since(started)
		assert.Assert(b, ok && report.Code(failed.ExitCode) == report.Terminated)
		assert.Equal(b, w.Locked(), "")
		assert.Assert(b, contains(w.State(), `"slow"`), "what was being made is told")
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "stop-ms/op")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSizes tells how large OpenTofu is, a program that runs it, and what the
// cache keeps for a configuration.
func BenchmarkSizes(b *testing.B) {
	program, err := built()
	assert.NilError(b, err)
	for b.Loop() {
		for what, path := range map[string]string{"tofu-MB": needTofu(b).Path, "program-MB": program} {
			info, err := os.Stat(path)
			assert.NilError(b, err)
			b.ReportMetric(float64(info.Size())/1e6, what)
		}
		w := newBenchWorld(b, 1)
		prepared := filepath.Join(w.dir, "cache")
		w.command(b, program, w.dir, settings{"STATE_PHASE": "cold", "CACHE_DIR": prepared, "TOFU_PATH": needTofu(b).Path},
			"apply", filepath.Join(w.dir, "configuration"))
		size := int64(0)
		assert.NilError(b, filepath.WalkDir(prepared, func(_ string, entry os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
			return err
		}))
		b.ReportMetric(float64(size)/1e3, "cache-kB")
	}
	b.ReportMetric(0, "ns/op")
}
