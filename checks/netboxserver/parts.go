package netboxserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// parts are what a host must have for NetBox.
type parts struct {
	python   string // 3.12 or later
	postgres string // folder of PostgreSQL's programs, 15 or later
	redis    string
}

// ErrMissing says that a host lacks a part; the error that wraps it says which.
var ErrMissing = errors.New("missing part")

func missing(what string) error { return fmt.Errorf("%w: %s, for NetBox", ErrMissing, what) }

// findParts looks for them where distributions put them.
func findParts(ctx context.Context, e env.Environment) (parts, error) {
	p := parts{python: findPython(ctx, e), postgres: findPostgres(ctx, e)}
	switch {
	case p.python == "":
		return p, missing("Python 3.12 with venv")
	case p.postgres == "":
		return p, missing("PostgreSQL 15")
	}
	var err error
	if p.redis, err = child.Find("redis-server", e.Child(nil)); err != nil {
		return p, missing("redis-server")
	}
	if os.Geteuid() == 0 {
		if _, err := child.Find("unshare", e.Child(nil)); err != nil {
			return p, missing("unshare")
		}
	}
	return p, nil
}

// findPython prefers the Python of the PATH. Those that pyenv keeps are not on it.
func findPython(ctx context.Context, e env.Environment) string {
	pythons := []string{"python3", "python3.14", "python3.13", "python3.12"}
	if home, err := os.UserHomeDir(); err == nil {
		kept, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/bin/python3"))
		pythons = append(pythons, kept...)
	}
	for _, python := range pythons {
		path, err := child.Find(python, e.Child(nil))
		if err != nil {
			continue
		}
		recent := child.Command{Path: path, Env: e.Child(nil), Args: []string{"-c", "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))"}}
		if recent.Run(ctx) == nil {
			return path
		}
	}
	return ""
}

// findPostgres looks in the folders that Debian has beside the PATH, and there.
func findPostgres(ctx context.Context, e env.Environment) string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Sort(folders)
	if path, err := child.Find("initdb", e.Child(nil)); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			folders = append([]string{filepath.Dir(path)}, folders...)
		}
	}
	for _, folder := range slices.Backward(folders) {
		out, err := child.Command{Path: filepath.Join(folder, "postgres"), Args: []string{"--version"}, Env: e.Child(nil)}.Output(ctx)
		if err != nil {
			continue
		}
		var major int
		if _, err := fmt.Sscanf(string(out), "postgres (PostgreSQL) %d", &major); err == nil && major >= 15 {
			return folder
		}
	}
	return ""
}
