// Package netboxserver runs a NetBox, with PostgreSQL and Redis, on the loopback:
// what our idea of its API is held against.
package netboxserver

import (
	"context"
	"crypto/sha256"
	_ "embed" // what makes the tables
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// Version is the NetBox that is installed from PyPI. It pins what it needs.
const Version = "4.7.3"

//go:embed tables.py
var tables string

// Tokens are those of the one user of a NetBox, who may do anything.
type Tokens struct {
	V2, V1   string
	ReadOnly string // of version 2, may not write
}

// Tree is a NetBox that is installed: its programs, and a database with nothing in
// it but a user, to be copied.
type Tree struct {
	Tokens Tokens
	parts
	e   env.Environment
	dir string
}

// Install installs NetBox below the folder cache, once. That takes two minutes.
func Install(ctx context.Context, e env.Environment, cache string) (*Tree, error) {
	p, err := findParts(ctx, e)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(tables + settings + installer + wheel))
	t := &Tree{parts: p, e: e, dir: filepath.Join(cache, "netbox-"+Version+"-"+hex.EncodeToString(sum[:6]))}
	if err := t.recall(); err == nil {
		return t, nil
	}
	if err := errors.Join(os.RemoveAll(t.dir), os.MkdirAll(t.dir, 0o755)); err != nil {
		return nil, err
	}
	if err := t.programs(ctx); err != nil {
		return nil, fmt.Errorf("%w: NetBox %s: %w", ErrMissing, Version, err)
	}
	if err := t.fill(ctx); err != nil {
		return nil, fmt.Errorf("make NetBox's database: %w", err)
	}
	text, err := json.Marshal(t.Tokens)
	if err != nil {
		return nil, err
	}
	return t, os.WriteFile(t.tokens(), text, 0o600)
}

func (t *Tree) python() string   { return filepath.Join(t.dir, "venv", "bin", "python") }
func (t *Tree) database() string { return filepath.Join(t.dir, "database") }

// tokens is the file that is written last: with it, the tree is whole.
func (t *Tree) tokens() string { return filepath.Join(t.dir, "tokens.json") }

// recall finds a tree that was installed before. Its Python may have gone since.
func (t *Tree) recall() error {
	if _, err := os.Stat(t.python()); err != nil {
		return err
	}
	text, err := os.ReadFile(t.tokens())
	if err != nil {
		return err
	}
	return json.Unmarshal(text, &t.Tokens)
}

// installer is the uv that installs NetBox, from PyPI too. It takes a tenth of pip's
// time, and can be told to take NetBox's driver of PostgreSQL as a wheel, which
// otherwise is built.
const installer, wheel = "uv==0.13.9", "psycopg[binary,pool]\n"

// programs installs NetBox's programs.
func (t *Tree) programs(ctx context.Context) error {
	venv, override := filepath.Join(t.dir, "venv"), filepath.Join(t.dir, "override.txt")
	if err := os.WriteFile(override, []byte(wheel), 0o600); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{t.parts.python, "-m", "venv", venv},
		{t.python(), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", installer},
		{t.python(), "-m", "uv", "pip", "install", "--quiet", "--system-certs", "--no-config", "--python", t.python(), "--override", override, "netbox==" + Version},
	} {
		if err := (child.Command{Path: argv[0], Args: argv[1:], Env: t.e.Child(nil)}).Run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// fill makes the database, with a user who has a token of each kind.
func (t *Tree) fill(ctx context.Context) error {
	initdb := t.unprivileged(filepath.Join(t.postgres, "initdb"), "-D", t.database(), "-U", "netbox",
		"--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
	if err := initdb.Run(ctx); err != nil {
		return err
	}
	s, err := t.open(ctx, t.database())
	if err != nil {
		return err
	}
	return errors.Join(s.fill(ctx, &t.Tokens), s.Close())
}

func (s *Server) fill(ctx context.Context, tokens *Tokens) error {
	if err := s.client("createdb", "netbox").Run(ctx); err != nil {
		return err
	}
	making := s.python("-")
	making.Stdin = strings.NewReader(tables)
	out, err := making.Output(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, tokens); err != nil {
		return fmt.Errorf("make tokens: %w: %q", err, out)
	}
	return nil
}
