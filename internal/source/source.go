// Package source opens module sources: it fetches what is pinned, checks it before
// anything reads it, and says which layer of a group comes from which of them.
//
// Nothing of a source is ever run. A tarball comes through Nix where it is not on
// this host, and counts when its hash does; a revision comes through git, without
// hooks, filters or submodules; both are unpacked into the cache by code of ours,
// which refuses what would leave the tree.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"fediversity.eu/slipway/groups/modulejson"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Source is a module source that lies on this host.
type Source struct {
	Name     string // for messages and records
	Dir      string // empty for what is baked into the program
	Revision string // what pins it: a commit id, or sha256-… of a tarball
	Hash     string // SHA-256 of the tree's content, in hex
	// Module is what its module.json says; nil where there is none, and then it has
	// the machines layer alone.
	Module *modulejson.Module
}

// Version names the content of the source.
func (s Source) Version() string {
	if s.Revision != "" {
		return s.Revision
	}
	return "tree " + s.Hash[:16]
}

// Shelf opens each source once, and chooses once for each group and decision.
type Shelf struct {
	environment env.Environment
	log         *report.Log
	opened      map[string]Source
	chosen      map[string]func() (Choice, error)
}

// NewShelf makes an empty shelf.
func NewShelf(environment env.Environment, log *report.Log) *Shelf {
	return &Shelf{environment: environment, log: log, opened: map[string]Source{}, chosen: map[string]func() (Choice, error){}}
}

// fetchLimit is how long it may take to fetch a source.
const fetchLimit = 10 * time.Minute

// open gives the source that a key names. agent is the socket of the caller's ssh
// agent.
func (s *Shelf) open(ctx context.Context, key string, a Address, agent string) (Source, error) {
	if source, ok := s.opened[a.String()]; ok {
		return source, nil
	}
	what := "open the module source"
	source, err := s.fetch(ctx, a, agent)
	if err == nil {
		what = "read " + modulejson.File
		source.Module, err = readModule(source.Dir)
	}
	if err == nil {
		s.opened[a.String()] = source
		return source, nil
	}
	fault := &report.Fault{Code: report.Usage, What: what, Where: key + "=" + a.String(), Why: err}
	if ctx.Err() != nil {
		return source, err
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		fault.Code, fault.Why, fault.Hint = report.Refused, refused.err, refused.hint
	}
	return source, fault
}

// refusal is the fate of a source that is well addressed and can't be had.
type refusal struct {
	err  error
	hint string
}

func (r *refusal) Error() string { return r.err.Error() }

func (s *Shelf) fetch(ctx context.Context, a Address, agent string) (Source, error) {
	if a.kind == directory {
		return openDirectory(a)
	}
	cache, err := s.environment.CacheDir()
	if err != nil {
		return Source{}, err
	}
	parent := filepath.Join(cache, "sources")
	root, found := shelved(parent, a)
	if !found {
		ctx, cancel := context.WithTimeoutCause(ctx, fetchLimit, fmt.Errorf("it took more than %s to fetch the module source", fetchLimit))
		defer cancel()
		s.log.In("fetch").Infof("%s", a)
		fetch := s.fetchTarball
		if a.kind == repository {
			fetch = func(ctx context.Context, a Address, dir string) error { return s.fetchRevision(ctx, a, agent, dir) }
		}
		if root, err = shelve(parent, a, func(dir string) error { return fetch(ctx, a, dir) }); err != nil {
			return Source{}, err
		}
	}
	source := Source{Name: a.String(), Dir: filepath.Join(root, filepath.FromSlash(a.folder)), Revision: a.pin}
	tree, err := os.OpenRoot(root)
	if err != nil {
		return source, err
	}
	defer func() { _ = tree.Close() }()
	if a.folder != "" {
		info, err := tree.Stat(a.folder)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is no folder", a.folder)
		}
		if err != nil {
			return source, err
		}
	}
	source.Hash, err = HashTree(os.DirFS(source.Dir))
	return source, err
}

func openDirectory(a Address) (Source, error) {
	resolved, err := filepath.EvalSymlinks(a.where)
	if err != nil {
		return Source{}, err
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		err = errors.New("it is a file; a tarball needs " + needsHash)
	}
	if err != nil {
		return Source{}, err
	}
	hash, err := HashTree(os.DirFS(resolved))
	return Source{Name: resolved, Dir: resolved, Hash: hash}, err
}

// mostModule is how long a module.json may be, in bytes.
const mostModule = 16 << 20

// readModule reads the module.json of a source, if there is one.
func readModule(dir string) (*modulejson.Module, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	info, err := root.Stat(modulejson.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // no module.json is nothing wrong
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostModule:
		return nil, fmt.Errorf("it is no file of at most %d bytes", mostModule)
	}
	text, err := root.ReadFile(modulejson.File)
	if err != nil {
		return nil, err
	}
	module, err := modulejson.Read(text)
	return &module, err
}
