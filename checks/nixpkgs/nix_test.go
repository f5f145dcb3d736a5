package nixpkgs_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
)

// entry is how a system is evaluated: every argument given, none from outside.
const entry = `{ input }:
let
  given = builtins.fromJSON (builtins.readFile input);
  result = import (given.nixpkgs + "/nixos/lib/eval-config.nix") {
    system = null;
    extraModules = [ ];
    specialArgs = { inherit (given) coordinates; };
    modules = map (module: given.source + "/" + module) given.modules ++ [
      { nixpkgs.hostPlatform = given.system; }
    ];
  };
in
{
  inherit (result) config options;
  inherit (result.config.system.build) toplevel;
}
`

// nix evaluates and builds systems over the stand-in, in a folder of its own.
type nix struct {
	nixpkgs string
	dir     string
	env     []string
}

func newNix(t *testing.T) nix {
	t.Helper()
	needBusybox(t)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C"}
	if _, err := child.Find("nix-instantiate", env); err != nil {
		t.Skip("missing part: nix-bin")
	}
	path, err := nixpkgs.Unpack(t.Context(), t.TempDir(), "")
	assert.NilError(t, err)
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		store := filepath.Join(t.TempDir(), "root")
		t.Cleanup(func() { makeRemovable(store) })
		env = append(env, "NIX_REMOTE="+store)
	}
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "entry.nix"), []byte(entry), 0o644))
	return nix{nixpkgs: path, dir: dir, env: env}
}

// system is what an evaluation gets.
type system struct {
	source  string            // the directory of the modules
	modules []string          // relative to it
	files   map[string]string // more modules, written into a directory that takes the place of source
	hosting map[string]any

	placement string // where the machine runs; empty is nowhere in particular
}

func (n nix) command(name string, args ...string) child.Command {
	return child.Command{Path: name, Env: n.env, Args: append(args,
		"--option", "build-users-group", "", "--option", "sandbox", "false", "--option", "substitute", "false")}
}

// input writes the argument of an evaluation and returns the common arguments.
func (n nix) input(t *testing.T, s system) []string {
	t.Helper()
	if s.files != nil {
		s.source = t.TempDir()
		// In order of name: the order of modules is the order of their definitions.
		for _, name := range slices.Sorted(maps.Keys(s.files)) {
			assert.NilError(t, os.WriteFile(filepath.Join(s.source, name), []byte(s.files[name]), 0o644))
			s.modules = append(s.modules, name)
		}
	}
	if s.hosting == nil {
		s.hosting = map[string]any{}
	}
	text, err := json.Marshal(map[string]any{
		"nixpkgs": n.nixpkgs, "source": s.source, "modules": s.modules, "system": "x86_64-linux",
		"coordinates": map[string]any{"group": "test", "machine": "box", "domain": "example.org", "hosting": s.hosting, "placement": s.placement},
	})
	assert.NilError(t, err)
	dir := t.TempDir()
	file := filepath.Join(dir, "input.json")
	assert.NilError(t, os.WriteFile(file, text, 0o644))
	return []string{
		filepath.Join(n.dir, "entry.nix"), "--argstr", "input", file,
		"--option", "restrict-eval", "true", "-I", n.nixpkgs, "-I", s.source, "-I", n.dir, "-I", dir,
	}
}

// value evaluates an attribute of a system and decodes it.
func (n nix) value(t *testing.T, s system, attribute string, into any) error {
	t.Helper()
	args := append(n.input(t, s), "--eval", "--strict", "--json", "-A", attribute)
	out, err := n.command("nix-instantiate", args...).Output(t.Context())
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// instantiate evaluates the toplevel of a system to its derivation, and says
// what was said and how many functions were called, which is the same on any host.
func (n nix) instantiate(t *testing.T, s system) (derivation, said string, calls int, err error) {
	t.Helper()
	var stderr strings.Builder
	dir := t.TempDir()
	root, statistics := filepath.Join(dir, "derivation"), filepath.Join(dir, "statistics")
	cmd := n.command("nix-instantiate", append(n.input(t, s), "-A", "toplevel", "--add-root", root, "--indirect")...)
	cmd.Stderr = &stderr
	cmd.Env = append(slices.Clone(cmd.Env), "NIX_SHOW_STATS=1", "NIX_SHOW_STATS_PATH="+statistics)
	if err = cmd.Run(t.Context()); err != nil {
		return root, stderr.String(), 0, err
	}
	var counted struct{ NrFunctionCalls int }
	text, err := os.ReadFile(statistics)
	assert.NilError(t, err)
	assert.NilError(t, json.Unmarshal(text, &counted))
	return root, stderr.String(), counted.NrFunctionCalls, nil
}

// build builds the toplevel of a system and returns its path.
func (n nix) build(t *testing.T, s system) string {
	t.Helper()
	derivation, _, _, err := n.instantiate(t, s)
	assert.NilError(t, err)
	root := filepath.Join(t.TempDir(), "toplevel")
	assert.NilError(t, n.command("nix-store", "--realise", derivation, "--add-root", root).Run(t.Context()))
	path, err := os.Readlink(root)
	assert.NilError(t, err)
	if os.Geteuid() != 0 {
		path = filepath.Join(strings.TrimPrefix(n.env[len(n.env)-1], "NIX_REMOTE="), path)
	}
	return path
}

// refusal is the last error of a failed evaluation.
func refusal(t *testing.T, err error) string {
	t.Helper()
	var failure *child.Error
	assert.Assert(t, errors.As(err, &failure), "not a failed evaluation: %v", err)
	return failure.Stderr
}

// makeRemovable lets the directories of a store be emptied.
func makeRemovable(store string) {
	_ = filepath.WalkDir(store, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
}
