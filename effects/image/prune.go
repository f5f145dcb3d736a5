package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/incus"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// KeepKeys say how much of what was published before stays.
type KeepKeys struct {
	Keep env.Count `env:"IMAGE_KEEP" desc:"how many versions of an image stay published, on the server and in IMAGE_STREAMS, the newest ones; by default all. One that has a name of somebody else's, or that an instance was made from, stays besides"`
}

// stale are the images on the server that were versions of this one, and are to go:
// neither current nor among the newest, and nothing of anybody's.
func (r *run) stale(ctx context.Context, c *incus.Client, s step) ([]incus.Image, error) {
	if r.keep.Keep == 0 {
		return nil, nil
	}
	all, err := c.Images(ctx)
	if err != nil {
		return nil, err
	}
	moving := r.moving(s.built) // which moves first
	ours := func(name string) bool { return name == moving || strings.HasPrefix(name, moving+"/") }
	versions := slices.DeleteFunc(all, func(i incus.Image) bool {
		return i.Properties[pathProperty] == "" || i.Fingerprint == s.Fingerprint || !slices.ContainsFunc(i.Names, ours)
	})
	slices.SortFunc(versions, func(a, b incus.Image) int { return b.Uploaded.Compare(a.Uploaded) })
	old := versions[min(int(r.keep.Keep)-1, len(versions)):]
	if len(old) == 0 {
		return nil, nil
	}
	bases, err := c.Bases(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(old, func(i incus.Image) bool {
		return bases[i.Fingerprint] || slices.ContainsFunc(i.Names, func(name string) bool { return !ours(name) })
	}), nil
}

// prune removes them, once the new one is published.
func (r *run) prune(ctx context.Context, run *task.Run, c *incus.Client, s step) error {
	old, err := r.stale(ctx, c, s)
	if err != nil {
		return &report.Fault{Code: report.Unknown, What: "look for older versions of image " + s.Name, Where: c.Address(), Why: err, Hint: "the new one is published"}
	}
	for _, i := range old {
		if err := c.DeleteImage(ctx, i.Fingerprint); err != nil {
			return report.Fail("remove an older version of image "+s.Name, err, "the new one is published; publish goes on from here")
		}
		run.Record.Changed = true
		run.Log.In("publish").Infof("removed %s, %s", strings.Join(i.Names, " "), i.Fingerprint)
	}
	return nil
}

// retire takes those versions of a product out of the catalog that are neither of an
// image nor among the newest, and gives their names.
func (s *streams) retire(name string, b built, keep int) []string {
	versions := s.catalog.Products[name].Versions
	if keep == 0 {
		return nil
	}
	called := slices.DeleteFunc(slices.Sorted(maps.Keys(versions)), func(called string) bool {
		_, err := time.Parse(versionForm, called)
		return err != nil || versions[called].is(b)
	})
	old := called[:max(0, len(called)-(keep-1))]
	for _, called := range old {
		delete(versions, called)
	}
	return old
}

// half is how long the files of a version may be there before an index names it.
const half = 24 * time.Hour

// sweep removes the files of versions that no index of the folder names, be it one
// of somebody else's: those that were retired, and what a run left that was killed.
// It tells which.
func (s *streams) sweep(name string, retired []string, now time.Time) ([]string, error) {
	folder := path.Join("images", strings.ReplaceAll(name, ":", "/"))
	entries, err := os.ReadDir(filepath.Join(s.dir, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	named, err := s.named()
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, e := range entries {
		version := path.Join(folder, e.Name())
		begun, err := time.Parse(versionForm, e.Name())
		if err != nil || strings.Contains(named, version+"/") || !slices.Contains(retired, e.Name()) && now.Sub(begun) < half {
			continue
		}
		if err := os.RemoveAll(filepath.Join(s.dir, filepath.FromSlash(version))); err != nil {
			return gone, fmt.Errorf("remove %s: %w", version, err)
		}
		gone = append(gone, version)
	}
	return gone, nil
}

// named is all that the indexes of the folder say.
func (s *streams) named() (string, error) {
	folder := filepath.Join(s.dir, "streams", "v1")
	found, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var all strings.Builder
	for _, e := range found {
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		all.WriteString(strings.ReplaceAll(string(text), `\/`, "/"))
	}
	return all.String(), nil
}
