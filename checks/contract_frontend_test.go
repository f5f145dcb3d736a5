//go:build checks

package checks

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/env"
)

// frontend is the example of a front-end, running as a process.
type frontend struct {
	t   *testing.T
	url string
}

// buildFrontend builds the example, which is a module of its own, and runs its
// tests.
func buildFrontend(t *testing.T) string {
	t.Helper()
	module, err := toolchain.Module()
	assert.NilError(t, err)
	_, tools, _ := given(t)
	binary := filepath.Join(t.TempDir(), "frontend")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}, {"build", "-o", binary, "."}} {
		assert.NilError(t, child.Command{
			Path: "go", Args: args, Dir: filepath.Join(module, "examples", "frontend"), Env: tools.Environment(env.Process(), nil),
		}.Run(t.Context()), "go %v", args)
	}
	return binary
}

// serve starts the example with jobs of a binary, until the test ends.
func serve(t *testing.T, binary string, variables []string, args ...string) frontend {
	t.Helper()
	out, in := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Command{Path: binary, Args: append([]string{"-listen", "127.0.0.1:0"}, args...), Env: variables, Stdout: in}.Run(t.Context())
		_ = in.Close()
	}()
	t.Cleanup(func() { <-ended })
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	return frontend{t: t, url: strings.TrimSpace(line)}
}

// start asks for a job and gives the status and what was said.
func (f frontend) start(name string, variables map[string]string) (int, string) {
	f.t.Helper()
	body, err := json.Marshal(map[string]any{"variables": variables})
	assert.NilError(f.t, err)
	answer, err := http.Post(f.url+"/"+name, "application/json", strings.NewReader(string(body)))
	assert.NilError(f.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	assert.NilError(f.t, err)
	return answer.StatusCode, string(text)
}

// startAs asks for a job by another name of the front-end's host.
func (f frontend) startAs(host string) int {
	f.t.Helper()
	q, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+"/operator-web", strings.NewReader(`{"variables":{}}`))
	assert.NilError(f.t, err)
	q.Host = host
	answer, err := http.DefaultClient.Do(q)
	assert.NilError(f.t, err)
	assert.NilError(f.t, answer.Body.Close())
	return answer.StatusCode
}

// TestContractFrontend lets a process that has contract.json and nothing else of
// ours start every published program: first a spy in its place, then the real one.
func TestContractFrontend(t *testing.T) {
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	c, err := contract.New(registry)
	assert.NilError(t, err)
	secret := map[string]bool{}
	every := map[string]bool{}
	var may []string // what requests may set: a real front-end would list few
	for _, key := range c.Keys() {
		secret[key.Name] = key.Secret
		may = append(may, key.Name)
	}
	isSecret := func(name string) bool {
		for own := range secret {
			if secret[own] && (name == own || strings.HasSuffix(name, "_"+own) || strings.HasSuffix(name, own+"_FILE")) {
				return true
			}
		}
		return false
	}
	for _, p := range c.Programs {
		for _, name := range c.Variables(p) {
			every[name] = true
		}
	}
	all, example := binary(t), buildFrontend(t)

	t.Run("exactly the declared variables", func(t *testing.T) {
		dir := t.TempDir()
		spy, secrets := filepath.Join(dir, "spy"), filepath.Join(dir, "secrets")
		assert.NilError(t, os.WriteFile(spy, []byte("#!/bin/sh\necho \"argv: $*\"\nexec /usr/bin/env\n"), 0o755))
		assert.NilError(t, os.Mkdir(secrets, 0o700))
		for name := range every {
			if isSecret(name) && !strings.HasSuffix(name, "_FILE") {
				assert.NilError(t, os.WriteFile(filepath.Join(secrets, name), []byte("hush-hush\n"), 0o600))
			}
		}
		// The front-end's own environment is full of what must not be handed on.
		own := []string{"PATH=/usr/bin:/bin", "OF_THE_FRONT_END=x"}
		for name := range every {
			own = append(own, name+"=of-the-front-end")
		}
		f := serve(t, example, own, "-run", spy, "-secrets", secrets, "-may", strings.Join(may, ","))
		for _, p := range c.Programs {
			want, given := map[string]bool{}, map[string]string{}
			for _, name := range c.Variables(p) {
				switch {
				case !isSecret(name):
					want[name], given[name] = true, "value of "+name
				case strings.HasSuffix(name, "_FILE"):
					want[name] = true
				}
			}
			status, said := f.start(p.Name, given)
			if !p.Published {
				assert.Equal(t, status, http.StatusNotFound, p.Name)
				continue
			}
			assert.Equal(t, status, http.StatusOK, "%s: %s", p.Name, said)
			assert.Assert(t, strings.HasPrefix(said, "argv: "+p.Name+"\n"), said)
			assert.Assert(t, !strings.Contains(said, "hush-hush") && !strings.Contains(said, "of-the-front-end"), said)
			got := map[string]bool{}
			for line := range strings.Lines(said) {
				if name, _, ok := strings.Cut(line, "="); ok && (every[name] || name == "OF_THE_FRONT_END") {
					got[name] = true
				}
			}
			assert.DeepEqual(t, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
			for name := range every {
				if slices.Contains(c.Variables(p), name) {
					continue
				}
				given[name] = "x"
				status, said = f.start(p.Name, given)
				assert.Equal(t, status, http.StatusUnprocessableEntity, "%s takes %s", p.Name, name)
				assert.Assert(t, strings.Contains(said, `"undeclared":["`+name+`"]`), said)
				break
			}
		}
	})

	t.Run("the program itself", func(t *testing.T) {
		w := newWorld(t)
		f := serve(t, example, []string{"PATH=" + w.env["PATH"], "HOME=" + w.dir}, "-run", all, "-may", strings.Join(may, ","))
		coordinates := map[string]string{}
		for name, value := range w.env {
			if name != "PATH" && name != "HOME" {
				coordinates[name] = value
			}
		}
		delete(coordinates, "SSH_KEEPALIVE") // building needs no connection
		status, said := f.start("operator-web", coordinates)
		assert.Equal(t, status, http.StatusOK, said)
		assert.Assert(t, strings.Contains(said, "/nix/store/") && strings.HasSuffix(said, "exit code 0\n"), said)
		assert.Equal(t, f.startAs("rebound.example.com"), http.StatusMisdirectedRequest)
		status, said = f.start("operator-ssh-wbe", nil)
		assert.Equal(t, status, http.StatusNotFound)
		assert.Assert(t, strings.Contains(said, `"close":["operator-ssh-web"`), said)
	})
}
