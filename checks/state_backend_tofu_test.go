//go:build checks

package checks

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/port"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/internal/wait"
	"fediversity.eu/slipway/methods/statebackend"
	"fediversity.eu/slipway/methods/statebackend/protocol"
	tofu "fediversity.eu/slipway/methods/tofu/binary"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// opentofu finds OpenTofu, or builds it, once for all checks of this host.
var opentofu = sync.OnceValues(func() (*tofu.Tofu, error) {
	var tools toolchain.Keys
	if err := env.Process().Load(context.Background(), env.For{}, &tools); err != nil {
		return nil, err
	}
	return tofu.Find(context.Background(), env.Process(), tofu.Keys{}, tools, report.NewLog(report.Plain(os.Stderr)))
})

// openTofu is the path of an OpenTofu.
func openTofu(t *testing.T) string {
	t.Helper()
	here, err := opentofu()
	assert.NilError(t, err)
	return here.Path
}

// workbench is a working directory of OpenTofu, with a state backend.
type workbench struct {
	t    *testing.T
	tofu string
	dir  string
	env  map[string]string
}

func newWorkbench(t *testing.T, b protocol.Backend, config string) *workbench {
	t.Helper()
	w := &workbench{t: t, tofu: openTofu(t), dir: t.TempDir()}
	w.write("main.tf", "terraform {\n  backend \"http\" {}\n}\n"+config)
	w.write("tofurc", "disable_checkpoint = true\n")
	w.env = map[string]string{
		"PATH": "/usr/bin:/bin", "HOME": w.dir, "TMPDIR": w.dir, "TF_CLI_CONFIG_FILE": filepath.Join(w.dir, "tofurc"), "TF_CLI_ARGS": "-no-color",
		"TF_HTTP_ADDRESS": b.URL, "TF_HTTP_LOCK_ADDRESS": b.LockURL, "TF_HTTP_UNLOCK_ADDRESS": b.UnlockURL,
		"TF_HTTP_LOCK_METHOD": b.LockMethod, "TF_HTTP_UNLOCK_METHOD": b.UnlockMethod,
		"TF_HTTP_USERNAME": b.User, "TF_HTTP_PASSWORD": b.Password, "TF_HTTP_RETRY_WAIT_MIN": "1",
	}
	return w
}

func (w *workbench) write(name, text string) {
	w.t.Helper()
	assert.NilError(w.t, os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600))
}

// run runs a command of OpenTofu and gives its output and exit code.
func (w *workbench) run(args ...string) (string, int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Minute)
	defer cancel()
	out := newWatched()
	err := child.Command{Path: w.tofu, Args: args, Dir: w.dir, Env: pairs(w.env), Stdout: out, Stderr: out}.Run(ctx)
	code := 0
	if err != nil {
		var failure *child.Error
		assert.Assert(w.t, errors.As(err, &failure), "%v", err)
		code = failure.ExitCode
	}
	w.t.Logf("tofu %s: exit %d\n%s", strings.Join(args, " "), code, out)
	return out.String(), code
}

// must runs a command that has to succeed.
func (w *workbench) must(args ...string) string {
	w.t.Helper()
	out, code := w.run(args...)
	assert.Equal(w.t, code, 0, out)
	return out
}

// with runs do in a changed environment.
func (w *workbench) with(changes map[string]string, do func()) {
	before := maps.Clone(w.env)
	defer func() { w.env = before }()
	maps.Copy(w.env, changes)
	do()
}

func serialOf(t *testing.T, a protocol.Answer) int {
	t.Helper()
	var state struct{ Serial int }
	assert.NilError(t, json.Unmarshal([]byte(a.Body), &state), "%s", a)
	return state.Serial
}

const twoThings = `
variable "to" {
  default = "first"
}

resource "terraform_data" "thing" {
  count = 2
  input = var.to
}

output "things" {
  value = terraform_data.thing[*].output
}
`

// TestStateBackendOpenTofu lets a real OpenTofu work with the backend, in each way
// in which it can be told to lock.
func TestStateBackendOpenTofu(t *testing.T) {
	base := startServer(t, filepath.Join(t.TempDir(), "states"), anyPort, buildServer(t))
	for _, c := range []struct{ name, below, lock, unlock string }{
		{"by-default", "", "LOCK", "UNLOCK"},
		{"put-and-delete", "/lock", "PUT", "DELETE"},
		{"post-and-delete", "/lock", "POST", "DELETE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := base.backend(c.name)
			b.LockURL, b.LockMethod, b.UnlockURL, b.UnlockMethod = b.URL+c.below, c.lock, b.URL+c.below, c.unlock
			w := newWorkbench(t, b, twoThings)
			w.must("init", "-input=false")
			assert.Assert(t, cmp.Contains(w.must("apply", "-auto-approve", "-input=false"), "2 added"))
			first := b.Get(t.Context())
			w.must("plan", "-detailed-exitcode", "-input=false")
			assert.Equal(t, w.must("state", "list"), "terraform_data.thing[0]\nterraform_data.thing[1]\n")

			stranger := protocol.NewLock("apply")
			assert.Equal(t, b.Lock(t.Context(), stranger).Status, http.StatusOK, "tofu left no lock")
			out, code := w.run("apply", "-auto-approve", "-input=false", "-var=to=second")
			assert.Equal(t, code, 1)
			for _, part := range []string{"already locked", "ID=" + stranger.ID, stranger.Who, stranger.Operation} {
				assert.Check(t, cmp.Contains(out, part))
			}
			out, code = w.run("force-unlock", "-force", "some-other-id")
			assert.Equal(t, code, 1, out)
			w.must("force-unlock", "-force", stranger.ID)
			w.must("apply", "-auto-approve", "-input=false", "-var=to=second")
			second := b.Get(t.Context())
			assert.Assert(t, serialOf(t, second) > serialOf(t, first))

			// The state of old comes back when that is said, and only then.
			w.write("old.tfstate", first.Body)
			_, code = w.run("state", "push", "-force", "old.tfstate")
			assert.Equal(t, code, 1)
			assert.Equal(t, b.Get(t.Context()).Body, second.Body)
			w.with(map[string]string{"TF_HTTP_ADDRESS": b.URL + "?force=true"}, func() { w.must("state", "push", "-force", "old.tfstate") })
			assert.Assert(t, cmp.Contains(b.Get(t.Context()).Body, `"first"`))

			w.must("destroy", "-auto-approve", "-input=false")
			assert.Equal(t, b.Lock(t.Context(), stranger).Status, http.StatusOK, "tofu left no lock")
		})
	}
}

// TestStateBackendDiesUnderOpenTofu kills the server while an apply runs: the next
// one knows the lock, takes the state and lets the lock go.
func TestStateBackendDiesUnderOpenTofu(t *testing.T) {
	dir, program := filepath.Join(t.TempDir(), "states"), buildServer(t)
	listen := port.Address(port.Keep(t))
	s := startServer(t, dir, listen, program)
	b := s.backend("web")
	w := newWorkbench(t, b, `
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch began; while [ ! -e go-on ]; do sleep 0.1; done"
  }
}
`)
	w.must("init", "-input=false")
	applied := make(chan int, 1)
	go func() {
		_, code := w.run("apply", "-auto-approve", "-input=false")
		applied <- code
	}()
	assert.NilError(t, wait.For{What: "the apply to begin", Limit: 5 * time.Minute}.Until(t.Context(), func(context.Context) error {
		_, err := os.Stat(filepath.Join(w.dir, "began"))
		return err
	}))
	s.kill()
	assert.Assert(t, b.Get(t.Context()).Err != nil)
	startServer(t, dir, listen, program)
	assert.Equal(t, b.Lock(t.Context(), protocol.NewLock("plan")).Status, http.StatusLocked)
	w.write("go-on", "")
	assert.Equal(t, <-applied, 0)
	assert.Assert(t, cmp.Contains(b.Get(t.Context()).Body, `"slow"`))
	assert.Equal(t, b.Lock(t.Context(), protocol.NewLock("plan")).Status, http.StatusOK)
}

// TestStateBackendOpenTofuOverTLS has states encrypted on the way, and in the file.
func TestStateBackendOpenTofuOverTLS(t *testing.T) {
	store, err := statebackend.Open(filepath.Join(t.TempDir(), "states"), statebackend.Options{})
	assert.NilError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	server, err := statebackend.Listen(ctx, store, statebackend.Serving{
		Access: statebackend.Access{User: stateUser, Password: env.NewSecret(statePassword)}, SelfSigned: true,
	})
	assert.NilError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	defer func() {
		stop()
		assert.Check(t, <-ended)
		assert.Check(t, store.Close())
	}()
	address := server.State("web")
	w := newWorkbench(t, protocol.Backend{
		URL: address, LockURL: address, LockMethod: "LOCK", UnlockURL: address, UnlockMethod: "UNLOCK", User: stateUser, Password: statePassword,
	}, twoThings)
	out, code := w.run("init", "-input=false")
	assert.Equal(t, code, 1)
	assert.Assert(t, cmp.Contains(out, "certificate signed by unknown authority"))
	w.env["TF_HTTP_CLIENT_CA_CERTIFICATE_PEM"] = string(server.Authority())
	w.env["TF_ENCRYPTION"] = `
key_provider "pbkdf2" "k" {
  passphrase = "a passphrase of a check"
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.k
}
state {
  method = method.aes_gcm.m
}
`
	w.must("init", "-input=false")
	w.must("apply", "-auto-approve", "-input=false")
	w.must("apply", "-auto-approve", "-input=false", "-var=to=second")
	assert.Equal(t, w.must("state", "list"), "terraform_data.thing[0]\nterraform_data.thing[1]\n")
	versions, err := store.Versions("web")
	assert.NilError(t, err)
	assert.Assert(t, len(versions) >= 2)
	for _, v := range versions {
		text, err := os.ReadFile(v.Path)
		assert.NilError(t, err)
		assert.Check(t, cmp.Contains(string(text), `"encrypted_data"`))
		assert.Check(t, !strings.Contains(string(text), "thing"))
	}
}
