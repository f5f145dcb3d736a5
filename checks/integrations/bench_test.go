//go:build checks

package integrations

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/internal/child"
)

// BenchmarkApply measures what the guard costs: init, plan and apply by OpenTofu
// alone over an HTTP backend, and the same by a run, one after the other so that a
// busy host burdens both.
func BenchmarkApply(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		for _, kind := range []string{"create", "no changes"} {
			b.Run(fmt.Sprintf("%d objects, %s", n, kind), func(b *testing.B) {
				var bare, guarded, bareCPU, guardedCPU time.Duration
				for b.Loop() {
					w := newBenchWorld(b, n)
					if kind == "no changes" {
						w.bare(b)
						w.forget(b)
					}
					started, used := time.Now(), cpu(b)
					w.bare(b)
					bare, bareCPU = bare+time.Since(started), bareCPU+cpu(b)-used
					s := settings{}
					if kind == "create" {
						w.Set(nil, nil)
						s = cold
					}
					started, used = time.Now(), cpu(b)
					w.guarded(b, s)
					guarded, guardedCPU = guarded+time.Since(started), guardedCPU+cpu(b)-used
				}
				b.ReportMetric(float64(bare.Milliseconds())/float64(b.N), "bare-ms/op")
				b.ReportMetric(float64(guarded.Milliseconds())/float64(b.N), "run-ms/op")
				b.ReportMetric(float64(guarded)/float64(bare), "ratio")
				b.ReportMetric(float64(guardedCPU)/float64(bareCPU), "cpu-ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
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
	text := ""
	for block := range max(1, n/100) {
		text += fmt.Sprintf("resource \"terraform_data\" \"thing%d\" {\n  count = %d\n  input = count.index\n}\n", block, min(n, 100))
	}
	assert.NilError(b, os.WriteFile(filepath.Join(w.dir, "configuration", "main.tf"), []byte(text), 0o600))
	w.forget(b)
	return w
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
	all := w.Environment()
	all["PATH"], all["HOME"], all["CACHE_DIR"] = "/usr/bin:/bin", w.dir, w.cache
	all["STATE_DIR"] = filepath.Join(w.dir, "state")
	maps.Copy(all, s)
	var entries []string
	for name, value := range all {
		entries = append(entries, name+"="+value)
	}
	out, err := child.Command{Path: path, Args: args, Env: entries, Dir: dir}.Output(b.Context())
	assert.NilError(b, err, "%s", out)
}

func (w *benchWorld) bare(b *testing.B) {
	b.Helper()
	tofu := needTofu(b)
	dir := filepath.Join(w.dir, "bare")
	s := settings{"CHECKPOINT_DISABLE": "1", "TF_CLI_CONFIG_FILE": os.DevNull}
	w.command(b, tofu.Path, dir, s, "init", "-input=false", "-no-color")
	w.command(b, tofu.Path, dir, s, "plan", "-input=false", "-no-color", "-out=plan")
	w.command(b, tofu.Path, dir, s, "apply", "-input=false", "-no-color", "plan")
}

func (w *benchWorld) guarded(b *testing.B, s settings) {
	b.Helper()
	program, err := built()
	assert.NilError(b, err)
	w.command(b, program, w.dir, s, "apply", filepath.Join(w.dir, "configuration"))
}
