//go:build checks

package checks

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
)

// block is a fenced block of the README, or of a page that it leads to.
type block struct {
	label string // what follows the language: "run", "file=fleet/fleet.go"
	text  string
}

func readme(t *testing.T) []block {
	t.Helper()
	module, err := toolchain.Module()
	assert.NilError(t, err)
	pages, err := filepath.Glob(filepath.Join(module, "docs", "*.md"))
	assert.NilError(t, err)
	var blocks []block
	for _, page := range append(pages, filepath.Join(module, "README.md")) {
		text, err := os.ReadFile(page)
		assert.NilError(t, err)
		for _, m := range regexp.MustCompile("(?ms)^```[a-z]+ ([^\n]+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
			blocks = append(blocks, block{label: m[1], text: m[2]})
		}
	}
	return blocks
}

func labelled(t *testing.T, label string) string {
	t.Helper()
	for _, b := range readme(t) {
		if b.label == label {
			return b.text
		}
	}
	t.Fatalf("the README has no block %q", label)
	return ""
}

// shell runs a script as a user at a shell in dir would.
func shell(t *testing.T, dir string, own map[string]string, script string) string {
	t.Helper()
	_, tools, _ := given(t)
	var out bytes.Buffer
	err := child.Command{
		Path: "bash", Args: []string{"-eu", "-c", script}, Dir: dir,
		Env: tools.Environment(env.Process(), own), Stdout: &out, Stderr: testWriter{t}, Grace: testGrace,
	}.Run(t.Context())
	t.Logf("%s\n%s", script, out.String())
	assert.NilError(t, err)
	return out.String()
}

func TestReadmeCommands(t *testing.T) {
	module, err := toolchain.Module()
	assert.NilError(t, err)

	t.Run("the second command is what CI runs", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(module, "README.md"))
		assert.NilError(t, err)
		ci, err := os.ReadFile(filepath.Join(module, ".ci", "run"))
		assert.NilError(t, err)
		const second = "go tool mage checks:setup checks:all"
		assert.Assert(t, strings.Contains(string(text), "```sh\n"+second+"\n```"))
		assert.Assert(t, strings.HasSuffix(string(ci), "exec "+second+"\n"))
	})

	t.Run("the first command deploys to a machine that it boots", func(t *testing.T) {
		if missing := guest.Missing(guest.VM); len(missing) > 0 {
			t.Skipf("missing part: %s", missing[0])
		}
		// A cache of its own, so that a machine of the user's is left alone; what
		// guests are made of is shared.
		_, _, cache := given(t)
		own := map[string]string{"CACHE_DIR": t.TempDir(), "MAGEFILE_CACHE": t.TempDir()}
		assert.NilError(t, os.MkdirAll(filepath.Join(cache, "guest"), 0o700))
		assert.NilError(t, os.Symlink(filepath.Join(cache, "guest"), filepath.Join(own["CACHE_DIR"], "guest")))
		t.Cleanup(func() {
			_, tools, _ := given(t)
			err := child.Command{
				Path: "go", Args: []string{"tool", "mage", "dev:combinedDestroy"}, Dir: module,
				Env: tools.Environment(env.Process(), own), Stderr: testWriter{t},
			}.Run(context.WithoutCancel(t.Context()))
			assert.Check(t, err)
			_, err = os.Stat(filepath.Join(own["CACHE_DIR"], "machines", "dev-local"))
			assert.Check(t, os.IsNotExist(err), "the machine's folder is still there")
		})
		address := strings.TrimSpace(shell(t, module, own, labelled(t, "run")))
		get := func(where string) (*http.Response, error) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, where, nil)
			assert.NilError(t, err)
			return http.DefaultClient.Do(request)
		}
		response, err := get(address)
		assert.NilError(t, err)
		assert.NilError(t, response.Body.Close())
		assert.Equal(t, response.StatusCode, http.StatusOK)
		again := shell(t, module, own, "go tool mage dev:combined")
		assert.Equal(t, strings.TrimSpace(again), address)

		// By OpenTofu it is the same machine, which is there.
		own["TOFU_PATH"] = openTofu(t)
		out := shell(t, module, own, labelled(t, "tf-local"))
		for _, part := range []string{address + "\n", "No changes.", `"verdict"`, "\nslipway_machine.local\n"} {
			assert.Assert(t, strings.Contains(out, part), "%q is missing", part)
		}
		if response, err := get(address); err == nil {
			assert.NilError(t, response.Body.Close())
			t.Error("the machine is still there")
		}
	})

	t.Run("a machine of one's own", func(t *testing.T) {
		w := newWorld(t)
		g := w.boot(guest.VM)
		stand, err := nixpkgs.Unpack(t.Context(), filepath.Join(w.dir, "nixpkgs"), nixpkgs.DefaultBusybox)
		assert.NilError(t, err)
		access := g.Access()
		public := shell(t, w.dir, nil, "ssh-keygen -y -f "+access.KeyFile)
		script := labelled(t, "own-machine")
		for example, real := range map[string]string{
			"SSH_HOST=192.0.2.7":                       "SSH_HOST=" + access.Host,
			`SSH_HOST_KEY="ssh-ed25519 AAAA…"`:         `SSH_HOST_KEY="` + access.HostKey + `"`,
			"SSH_KEY_FILE=$HOME/.ssh/id_ed25519":       "SSH_KEY_FILE=" + access.KeyFile,
			"NIXPKGS=/nix/store/…-nixpkgs":             "NIXPKGS=" + stand,
			`{"authorizedKeys":["ssh-ed25519 AAAA…"]}`: `{"authorizedKeys":["` + strings.TrimSpace(public) + `"]}`,
		} {
			assert.Assert(t, strings.Contains(script, example), "the README does not have %q", example)
			script = strings.ReplaceAll(script, example, real)
		}
		out := shell(t, module, map[string]string{"SSH_PORT": w.env["SSH_PORT"], "CACHE_DIR": w.env["CACHE_DIR"]}, script)
		assert.Assert(t, strings.HasPrefix(out, "/nix/store/"))
		assert.Equal(t, w.on(g, "systemctl is-active nginx.service"), "active")
	})
}

func TestLibraryImport(t *testing.T) {
	module, err := toolchain.Module()
	assert.NilError(t, err)
	dir := t.TempDir()
	club := filepath.Join(dir, "club")
	assert.NilError(t, os.Symlink(module, filepath.Join(dir, "slipway")))
	files := 0
	for _, b := range readme(t) {
		name, ok := strings.CutPrefix(b.label, "file=")
		if !ok {
			continue
		}
		files++
		path := filepath.Join(club, name)
		assert.NilError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		assert.NilError(t, os.WriteFile(path, []byte(b.text), 0o644))
	}
	assert.Equal(t, files, 6)
	out := shell(t, club, map[string]string{"MAGEFILE_CACHE": t.TempDir()}, labelled(t, "library"))
	assert.Assert(t, strings.Contains(out, "club:sshBox1Apply"), out)
	assert.Assert(t, strings.Contains(out, "club-ssh-box-1-apply"), out)

	w := newWorld(t)
	w.boot(guest.Container)
	own := maps.Clone(w.env)
	delete(own, "SELF_MODULE_SOURCE")
	own["HOME"], own["PATH"] = os.TempDir(), ""
	delete(own, "HOME")
	delete(own, "PATH")
	shell(t, club, own, "go tool club club-ssh-box-1-apply")
}
