package nixos

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the entry point of an evaluation
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/targets/report"
)

//go:embed evaluate.nix
var evaluateNix []byte

// System is what a machine's system is made of.
type System struct {
	Deployment  string // names the place of its evaluations in the cache
	Machine     groups.Machine
	Source      Source
	Nixpkgs     string // a directory
	Coordinates Coordinates
	Image       string // kind of an image, as evaluate.nix knows them; empty is a system
}

// input is the one argument of an evaluation.
type input struct {
	Nixpkgs     string      `json:"nixpkgs"`
	Source      string      `json:"source"`
	Modules     []string    `json:"modules"`
	System      string      `json:"system"`
	Coordinates Coordinates `json:"coordinates"`
	Image       string      `json:"image,omitempty"`
}

// Evaluation is an evaluated system: a derivation that is in the store, with a
// root against garbage collection.
type Evaluation struct {
	Derivation string
	Hash       string // SHA-256 of everything that went in
	Cached     bool   // whether nothing had to be evaluated
	dir        string
}

// Evaluate evaluates a system, unless the same was evaluated before: then what
// that gave is still in the store. cache is the directory of all evaluations.
func (t *Tool) Evaluate(ctx context.Context, s System, cache string) (Evaluation, error) {
	nixpkgs, err := openNixpkgs(s.Nixpkgs)
	if err != nil {
		return Evaluation{}, err
	}
	s.Nixpkgs = nixpkgs
	hash, argument, err := t.identify(s)
	if err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{Hash: hash, dir: filepath.Join(cache, "evaluations", s.Deployment, hash[:32])}
	if e.Derivation, e.Cached = rooted(filepath.Join(e.dir, "derivation")); e.Cached {
		touch(e.dir)
		return e, nil
	}
	if err := writeEvaluation(e.dir, argument); err != nil {
		return Evaluation{}, report.Refuse("write the evaluation's argument", err, "CACHE_DIR names another directory")
	}
	if err := t.instantiate(ctx, s, e.dir); err != nil {
		return Evaluation{}, err
	}
	var ok bool
	if e.Derivation, ok = rooted(filepath.Join(e.dir, "derivation")); !ok {
		return Evaluation{}, fmt.Errorf("evaluate %s: nix made no derivation", s.Deployment)
	}
	return e, prune(filepath.Dir(e.dir))
}

// openNixpkgs resolves the path of a nixpkgs, or says that it is none.
func openNixpkgs(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err == nil {
		_, err = os.Stat(filepath.Join(resolved, "nixos", "lib", "eval-config.nix"))
	}
	if err != nil {
		return "", &report.Fault{
			Code: report.Usage, What: "open nixpkgs", Where: dir, Why: err,
			Hint: "NIXPKGS names a directory with nixos/lib/eval-config.nix in it",
		}
	}
	return resolved, nil
}

// identify gives the hash of everything that goes into an evaluation, and its
// argument.
func (t *Tool) identify(s System) (string, []byte, error) {
	nixpkgs, err := hashNixpkgs(s.Nixpkgs)
	if err != nil {
		return "", nil, report.Refuse("hash nixpkgs", err, "NIXPKGS names a directory that can be read whole")
	}
	argument, err := json.MarshalIndent(input{
		Nixpkgs: s.Nixpkgs, Source: s.Source.Dir, Modules: s.Machine.Modules,
		System: s.Machine.Platform(), Coordinates: s.Coordinates, Image: s.Image,
	}, "", "  ")
	if err != nil {
		return "", nil, fmt.Errorf("write the evaluation's argument: %w", err)
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(t.version), evaluateNix, argument, []byte(nixpkgs), []byte(s.Source.Hash)} {
		_, _ = fmt.Fprintf(sum, "%d:", len(part))
		_, _ = sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)), argument, nil
}

// evaluationGrace is how long an evaluation may take to stop when asked: in the
// middle of a long one Nix does not hear, and half of one leaves nothing behind.
const evaluationGrace = 3 * time.Second

func (t *Tool) instantiate(ctx context.Context, s System, dir string) error {
	cmd := t.command("nix-instantiate", filepath.Join(dir, "evaluate.nix"),
		"--argstr", "input", filepath.Join(dir, "input.json"),
		"--add-root", filepath.Join(dir, "derivation"), "--indirect",
		"--option", "restrict-eval", "true",
		"-I", s.Nixpkgs, "-I", s.Source.Dir, "-I", dir)
	cmd.Grace = evaluationGrace
	_, err := cmd.Output(ctx)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return err
	}
	if child.Killed(err) {
		return killedError("evaluate "+s.Deployment, err)
	}
	return report.Refuse("evaluate "+s.Deployment,
		evaluationError(err, map[string]string{s.Source.Dir: "", s.Nixpkgs: "nixpkgs/", dir: "slipway/"}),
		"modules come from "+s.Source.Name+"; nothing was built or changed")
}

func writeEvaluation(dir string, argument []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := place(filepath.Join(dir, "evaluate.nix"), evaluateNix); err != nil {
		return err
	}
	return place(filepath.Join(dir, "input.json"), argument)
}

// place puts a file where another run may be reading the same one.
func place(path string, text []byte) error {
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return durable.Write(path, text)
}

// rooted reads a root and tells whether what it points to is still there.
func rooted(link string) (string, bool) {
	path, err := os.Readlink(link)
	if err != nil || !strings.HasPrefix(path, "/nix/store/") {
		return "", false
	}
	_, err = os.Stat(path)
	return path, err == nil
}
