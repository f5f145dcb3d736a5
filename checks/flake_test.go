//go:build checks

package checks

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/catalog"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/program"
	"fediversity.eu/slipway/targets/report"
)

// flake is the flake of this repository, over a nixpkgs that stands in for the real
// one and has the binary under test where that would build one.
type flake struct {
	*world
	dir   string // the flake
	stand string // its nixpkgs
}

func newFlake(t *testing.T) *flake {
	t.Helper()
	f := &flake{world: newWorld(t)}
	module, err := toolchain.Module()
	assert.NilError(t, err)
	f.dir, f.stand = filepath.Join(f.world.dir, "flake"), filepath.Join(f.world.dir, "stand-in")
	assert.NilError(t, os.CopyFS(f.stand, os.DirFS(f.env["NIXPKGS"])))
	assert.NilError(t, os.CopyFS(f.stand, os.DirFS(filepath.Join(module, "checks", "testdata", "flake"))))
	assert.NilError(t, os.CopyFS(filepath.Join(f.dir, "nix"), os.DirFS(filepath.Join(module, "nix"))))
	for from, to := range map[string]string{
		filepath.Join(module, "flake.nix"): filepath.Join(f.dir, "flake.nix"), binary(t): filepath.Join(f.stand, "slipway"),
	} {
		text, err := os.ReadFile(from)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(to, text, 0o755))
	}
	return f
}

// options are those of every command: nothing but the flake and its nixpkgs counts,
// nothing is fetched, and nothing is built in order to be read.
func options(stand string) []string {
	return []string{
		"--extra-experimental-features", "nix-command flakes", "--no-write-lock-file", "--override-input", "nixpkgs", "path:" + stand,
		"--option", "restrict-eval", "true", "--option", "allow-import-from-derivation", "false", "--option", "eval-cache", "false",
		"--option", "substitute", "false", "--option", "sandbox", "false", "--option", "build-users-group", "",
	}
}

// nix runs a command of Nix on an output of the flake.
func (f *flake) nix(t *testing.T, command []string, output string, words ...string) (said, why string, code report.Code) {
	t.Helper()
	var out, errs bytes.Buffer
	args := append(append(slices.Clone(command), options(f.stand)...), "path:"+f.dir+output)
	err := child.Command{Path: "nix", Args: append(args, words...), Env: pairs(f.env), Dir: f.world.dir, Stdout: &out, Stderr: &errs}.Run(t.Context())
	if failure := (*child.Error)(nil); errors.As(err, &failure) {
		code = report.Code(failure.ExitCode)
	}
	return out.String(), errs.String(), code
}

// evaluated is an output of the flake.
func evaluated[T any](t *testing.T, f *flake, output, apply string) T {
	t.Helper()
	said, why, code := f.nix(t, []string{"eval", "--json", "--apply", apply}, output)
	assert.Equal(t, code, report.Healthy, "%s", why)
	var value T
	assert.NilError(t, json.Unmarshal([]byte(said), &value))
	return value
}

// TestFlakeEvaluates uses the flake as its users would, with a nixpkgs that has no
// compiler: that Go builds the same binary there is all that is not seen.
func TestFlakeEvaluates(t *testing.T) {
	f := newFlake(t)
	if _, err := child.Find("nix", pairs(f.env)); err != nil {
		t.Skip("missing part: nix-bin")
	}
	registry, err := catalog.Registry()
	assert.NilError(t, err)
	names, shells := map[string]bool{"default": true}, map[string]bool{"default": true}
	for _, p := range registry.Programs() {
		names[p.Name] = true
		if p.Short != "" {
			names[p.Short] = true
		}
		if p.Kind != program.System {
			shells[strings.TrimSuffix(p.Name, "-"+p.Verb)] = true
		}
	}

	const paths = "builtins.mapAttrs (_: d: d.drvPath)"
	for _, system := range []string{"x86_64-linux", "aarch64-linux"} {
		apps := evaluated[map[string]struct{ Type, Program string }](t, f, "#apps."+system, "apps: apps")
		assert.DeepEqual(t, slices.Sorted(maps.Keys(apps)), slices.Sorted(maps.Keys(names)))
		for name, app := range apps {
			assert.Equal(t, app.Type, "app")
			assert.Assert(t, name == "default" || strings.HasSuffix(app.Program, "/bin/"+name), app.Program)
		}
		packages := evaluated[map[string]string](t, f, "#packages."+system, paths)
		assert.Equal(t, len(packages), len(names)+1)
		assert.Equal(t, packages["slipway"], packages["default"])
		have := evaluated[map[string]string](t, f, "#devShells."+system, paths)
		assert.DeepEqual(t, slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(shells)))
	}
	_, why, code := f.nix(t, []string{"flake", "check", "--no-build"}, "")
	assert.Equal(t, code, report.Healthy, "%s", why)

	t.Run("an app is the program", func(t *testing.T) {
		run := []string{"run"}
		said, why, code := f.nix(t, run, "#operator-dns-validate", "--", "--help")
		assert.Equal(t, code, report.Healthy, "%s", why)
		assert.Assert(t, strings.HasPrefix(said, "operator-dns-validate (mage operator:dnsValidate)\n"), said)
		assert.Assert(t, strings.Contains(said, `now "example.org"`), said)
		_, why, code = f.nix(t, run, "#operator-ssh-web")
		assert.Equal(t, code, report.Usage)
		assert.Assert(t, strings.Contains(why, "SSH_HOST"), why)
		_, why, code = f.nix(t, run, "#operator-ssh-wbe")
		assert.Assert(t, code != report.Healthy && strings.Contains(why, "operator-ssh-wbe"), why)
		f.measure(t)
	})

	t.Run("a shell has the verbs", func(t *testing.T) {
		shell := f.build(t, "#devShells.x86_64-linux.operator-tf-web")
		text, err := os.ReadFile(filepath.Join(shell, "packages"))
		assert.NilError(t, err)
		verbs := map[string]string{}
		for dir := range strings.FieldsSeq(string(text)) {
			entries, err := os.ReadDir(filepath.Join(dir, "bin"))
			assert.NilError(t, err)
			for _, entry := range entries {
				verbs[entry.Name()] = filepath.Join(dir, "bin", entry.Name())
			}
		}
		p, _ := registry.Find("operator-tf-web")
		for _, sibling := range registry.Siblings(p) {
			assert.Assert(t, verbs[sibling.Verb] != "", sibling.Verb)
			help, err := child.Command{Path: verbs[sibling.Verb], Args: []string{"--help"}, Env: pairs(f.env)}.Output(t.Context())
			assert.NilError(t, err)
			assert.Assert(t, strings.HasPrefix(string(help), sibling.Name+" "), "%s", help)
		}
		hook, err := os.ReadFile(filepath.Join(shell, "hook"))
		assert.NilError(t, err)
		assert.Assert(t, strings.Contains(string(hook), "slipway help operator-tf-web-apply"), "%s", hook)
	})

	t.Run("its programs are those of the binary", func(t *testing.T) { f.build(t, "#checks.x86_64-linux.programs") })

	t.Run("its modules are those of go.sum", func(t *testing.T) {
		_, tools, _ := given(t)
		module, err := toolchain.Module()
		assert.NilError(t, err)
		want, err := toolchain.VendorHash(t.Context(), env.Process(), tools, module)
		assert.NilError(t, err)
		assert.Equal(t, evaluated[string](t, f, "#packages.x86_64-linux.slipway.vendorHash", "hash: hash"), want, "go generate ./targets brings it up to date")
	})

	t.Run("it sees neither the environment nor the host", func(t *testing.T) {
		path := filepath.Join(f.dir, "nix", "slipway.nix")
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		defer func() { assert.NilError(t, os.WriteFile(path, text, 0o644)) }()
		const hash = "pkgs.lib.fileContents ./vendor-hash"
		assert.Assert(t, strings.Contains(string(text), hash))
		instead := func(expression string) {
			assert.NilError(t, os.WriteFile(path, []byte(strings.Replace(string(text), hash, expression, 1)), 0o644))
		}
		instead(`builtins.getEnv "DNS_DOMAIN"`)
		assert.Equal(t, evaluated[string](t, f, "#packages.x86_64-linux.slipway.vendorHash", "hash: hash"), "")
		instead(`builtins.readFile "/etc/passwd"`)
		_, why, code := f.nix(t, []string{"eval"}, "#packages.x86_64-linux.slipway.vendorHash")
		assert.Assert(t, code != report.Healthy && strings.Contains(why, "/etc/passwd"), why)
	})

	t.Run("a newer Nix evaluates it too", func(t *testing.T) {
		g := f.boot(guest.Container)
		var tree bytes.Buffer
		assert.NilError(t, child.Command{Path: "tar", Args: []string{"-c", "-C", f.world.dir, "flake", "stand-in"}, Env: pairs(f.env), Stdout: &tree}.Run(t.Context()))
		unpack := f.ssh(g, "mkdir /root/it && tar -x -C /root/it --no-same-owner")
		unpack.Stdin = &tree
		assert.NilError(t, unpack.Run(t.Context()))
		var words []string
		for _, word := range options("/root/it/stand-in") {
			words = append(words, "'"+word+"'")
		}
		t.Log(f.on(g, "nix --version"))
		said, err := f.witness(g, "nix flake check --no-build --all-systems "+strings.Join(words, " ")+" path:/root/it/flake 2>&1")
		assert.NilError(t, err, "%s", said)
		assert.Assert(t, !strings.Contains(said, "lacks attribute"), said)
	})
}

// build builds an output and gives its path.
func (f *flake) build(t *testing.T, output string) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "result")
	_, why, code := f.nix(t, []string{"build", "--out-link", link}, output)
	assert.Equal(t, code, report.Healthy, "%s", why)
	path, err := filepath.EvalSymlinks(link)
	assert.NilError(t, err)
	return path
}

// measure says what an app costs beside nix run, once all is built.
func (f *flake) measure(t *testing.T) {
	t.Helper()
	app := filepath.Join(f.build(t, "#operator-dns-validate"), "bin", "operator-dns-validate")
	const times = 5
	began := time.Now()
	for range times {
		assert.NilError(t, child.Command{Path: app, Args: []string{"--help"}, Env: pairs(f.env)}.Run(t.Context()))
	}
	direct := time.Since(began)
	for range times {
		_, _, code := f.nix(t, []string{"run"}, "#operator-dns-validate", "--", "--help")
		assert.Equal(t, code, report.Healthy)
	}
	t.Logf("an app says its help after %s, by nix run after %s", direct/times, (time.Since(began)-direct)/times)
}
