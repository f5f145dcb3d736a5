//go:build checks

package integrations

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
)

// TestSecretsStayOut looks for the backend's password wherever it must not be: in
// what OpenTofu and its children see, in command lines, in files, and in what is
// printed. And it holds the caller's own variables of OpenTofu to change nothing.
func TestSecretsStayOut(t *testing.T) {
	w := newWorld(t, fakestate.Strict)
	seen := filepath.Join(w.dir, "seen")
	w.write(fmt.Sprintf(`
variable "n" { default = 1 }
resource "terraform_data" "spy" {
  count = var.n
  provisioner "local-exec" { command = "{ env; cat /proc/[0-9]*/cmdline; } > %[1]s 2>/dev/null; echo + 0 >> %[2]s; while [ -e %[2]s.hold ]; do sleep 0.05; done" }
}
`, seen, w.trace()))
	w.hold()
	const leaked = "nobody's business that leaked"
	s := settings{
		"STATE_PHASE": "cold", "TF_VAR_n": "7", "TF_CLI_ARGS": "-bogus", "TF_CLI_ARGS_apply": "-bogus",
		"TF_WORKSPACE": "another", "TF_DATA_DIR": "/nowhere", "TF_LOG": "trace", "NOBODYS_BUSINESS": leaked,
	}
	r := w.start(s, "apply")
	w.until("an object", func() bool { return len(w.there()) == 1 })
	pid := <-r.pid
	assert.NilError(t, syscall.Kill(pid, syscall.SIGSTOP)) // so that every file is still there
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	hidden := func(what string, text []byte) {
		t.Helper()
		for _, secret := range []string{fakestate.Password, leaked} {
			assert.Check(t, !bytes.Contains(text, []byte(secret)), "%s holds %q", what, secret)
		}
	}
	files := 0
	assert.NilError(t, filepath.WalkDir(filepath.Join(w.dir, "state"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		hidden(path, text)
		info, _ := entry.Info()
		assert.Check(t, strings.HasSuffix(path, ".jsonl") || info.Mode().Perm()&0o077 == 0 || inPrivate(t, path), path)
		files++
		return err
	}))
	assert.Assert(t, files > 5)
	w.let()
	assert.NilError(t, syscall.Kill(pid, syscall.SIGCONT))
	o := r.wait()
	assert.Equal(t, int(o.code), 0)
	text, err := os.ReadFile(seen)
	assert.NilError(t, err)
	hidden("what a child of OpenTofu sees", text)
	assert.Assert(t, bytes.Contains(text, []byte("TF_HTTP_PASSWORD")), "it has one, and it is the broker's")
	hidden("what was printed", []byte(o.stdout+o.stderr))
	hidden("the state", []byte(w.State()))
	for _, name := range []string{"TF_CLI_ARGS", "TF_CLI_ARGS_apply", "TF_WORKSPACE", "TF_DATA_DIR", "TF_VAR_n", "TF_LOG"} {
		assert.Assert(t, contains(o.stderr, name), "that %s is passed over is said: %s", name, o.stderr)
	}
	left, err := os.ReadDir(filepath.Join(w.dir, "state"))
	assert.NilError(t, err)
	for _, entry := range left {
		assert.Assert(t, !strings.HasPrefix(entry.Name(), "run-"), "the work directory is removed")
	}
}

// inPrivate tells whether a file lies in the run directory, which is closed to
// others as a whole.
func inPrivate(t *testing.T, path string) bool {
	t.Helper()
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "state" {
			info, err := os.Stat(dir)
			assert.NilError(t, err)
			return info.Mode().Perm()&0o077 == 0
		}
	}
	return false
}
