//go:build checks

package integrations

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/targets/report"
)

// secrets are all that a run is given, by what they are.
type secrets map[string]string

// The secrets of the check. OpenTofu itself has to know two of them, and hands its
// environment down to what it starts.
const (
	token      = "a-token-that-nobody-may-read"
	passphrase = "a-passphrase-that-nobody-may-read"
	leaked     = "nobody's business that leaked"
)

// pair is a certificate and its key, in PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	form := &x509.Certificate{SerialNumber: big.NewInt(1)}
	signed, err := x509.CreateCertificate(rand.Reader, form, form, private.Public(), private)
	assert.NilError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(t, err)
	block := func(kind string, text []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: text}))
	}
	return block("CERTIFICATE", signed), block("PRIVATE KEY", text)
}

// hidden holds a text to have none of the secrets.
func (s secrets) hidden(t *testing.T, what string, text []byte) {
	t.Helper()
	for name, secret := range s {
		assert.Check(t, !bytes.Contains(text, []byte(secret)), "%s holds %s", what, name)
	}
}

// unwritten holds every file below a folder to have none of the secrets, and what is
// packed in one, and gives the names of all that was looked at. Nobody but the owner
// can read them.
func (s secrets) unwritten(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	look := func(path string, text []byte) {
		names[filepath.Base(path)] = true
		s.hidden(t, path, text)
	}
	assert.NilError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, text)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		assert.Check(t, info.Mode().Perm()&0o077 == 0 || inPrivate(t, dir, path), path)
		packed, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return nil //nolint:nilerr // it is none
		}
		for _, f := range packed.File {
			in, err := f.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			look(filepath.Join(path, f.Name), text)
		}
		return nil
	}))
	return names
}

// TestSecretsStayOut looks for every secret of a run wherever it must not be: in what
// OpenTofu's children see, in command lines, in files, also of runs that were killed,
// and in what is printed. And it holds the caller's own variables of OpenTofu to
// change nothing.
func TestSecretsStayOut(t *testing.T) {
	w := newWorld(t, fakestate.Strict)
	seen := filepath.Join(w.dir, "seen")
	w.write(fmt.Sprintf(`
variable "n" { default = 1 }
variable "token" {
  ephemeral = true
  sensitive = true
}
resource "terraform_data" "spy" {
  count = var.n
  provisioner "local-exec" { command = "{ cat /proc/[0-9]*/cmdline > %[1]s.lines; env > %[1]s; } 2>/dev/null; echo + 0 >> %[2]s; while [ -e %[2]s.hold ]; do sleep 0.05; done" }
}
`, seen, w.trace()))
	certificate, key := pair(t)
	all := secrets{
		"the password": fakestate.Password, "what leaked": leaked, "the token": token, "the passphrase": passphrase,
		"the client's key": strings.Split(key, "\n")[1],
	}
	s := settings{
		"STATE_PHASE": "cold", "TF_VAR_n": "7", "TF_CLI_ARGS": "-bogus", "TF_CLI_ARGS_apply": "-bogus",
		"TF_WORKSPACE": "another", "TF_DATA_DIR": "/nowhere", "TF_LOG": "trace", "NOBODYS_BUSINESS": leaked,
		"TOFURUN_TOKEN": token, "TF_HTTP_CLIENT_CERTIFICATE_PEM": certificate, "TF_HTTP_CLIENT_PRIVATE_KEY_PEM": key,
		"TF_ENCRYPTION": `key_provider "pbkdf2" "k" {
  passphrase = "` + passphrase + `"
  iterations = 200000
}
method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
state { method = method.aes_gcm.m }`, // and the plan in clear
	}
	state := filepath.Join(w.dir, "state")
	w.hold()
	r := w.start(s, "apply")
	w.until("an object", func() bool { return len(w.there()) == 1 })
	pid := <-r.pid
	assert.NilError(t, syscall.Kill(pid, syscall.SIGSTOP)) // so that every file is still there
	names := all.unwritten(t, state)
	w.let()
	assert.NilError(t, syscall.Kill(pid, syscall.SIGCONT))
	o := r.wait()
	assert.Equal(t, int(o.code), 0)
	for _, name := range []string{"plan", "tfplan", "tfstate", "slipway-tofu.json", "main.tf"} {
		assert.Assert(t, names[name], "%s was looked at, with %v", name, names)
	}
	text, err := os.ReadFile(seen + ".lines")
	assert.NilError(t, err)
	assert.Assert(t, bytes.Contains(text, []byte("apply")))
	all.hidden(t, "a command line", text)
	text, err = os.ReadFile(seen)
	assert.NilError(t, err)
	secrets{"the password": fakestate.Password, "what leaked": leaked, "the client's key": all["the client's key"]}.
		hidden(t, "what a child of OpenTofu sees", text)
	assert.Assert(t, bytes.Contains(text, []byte("TF_HTTP_PASSWORD")), "it has one, and it is the broker's")
	all.hidden(t, "what was printed", []byte(o.stdout+o.stderr))
	all.hidden(t, "the state", []byte(w.State()))
	for _, name := range []string{"TF_CLI_ARGS", "TF_CLI_ARGS_apply", "TF_WORKSPACE", "TF_DATA_DIR", "TF_VAR_n", "TF_LOG"} {
		assert.Assert(t, contains(o.stderr, name), "that %s is passed over is said: %s", name, o.stderr)
	}
	left, err := os.ReadDir(state)
	assert.NilError(t, err)
	for _, entry := range left {
		assert.Assert(t, !strings.HasPrefix(entry.Name(), "run-"), "the work directory is removed")
	}

	delete(s, "STATE_PHASE")
	private := func(file string) []string {
		found, err := filepath.Glob(filepath.Join(w.dir, "slipway-tofu-*", file))
		assert.NilError(t, err)
		return found
	}
	r = w.start(s, "plan")
	w.until("the folder of a run that reads", func() bool { return len(private("slipway-tofu.json")) > 0 })
	r.kill()
	assert.Assert(t, r.wait().code != report.Healthy)
	killed := private("slipway-tofu.json")
	assert.Equal(t, len(killed), 1)
	w.until("the end of its OpenTofu", func() bool {
		file, err := os.Open(filepath.Join(filepath.Dir(killed[0]), "lock"))
		if err != nil {
			return errors.Is(err, os.ErrNotExist)
		}
		defer func() { _ = file.Close() }()
		return syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil && len(private("pid")) == 0
	})
	all.unwritten(t, filepath.Dir(killed[0]))
	w.must(s, "plan")
	assert.Equal(t, len(private("")), 0, "the next run removes what is left")
}

// inPrivate tells whether a file lies in a folder that is closed to others as a whole.
func inPrivate(t *testing.T, root, path string) bool {
	t.Helper()
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		assert.NilError(t, err)
		if info.Mode().Perm()&0o077 == 0 {
			return true
		}
		if dir == root {
			return false
		}
	}
}
