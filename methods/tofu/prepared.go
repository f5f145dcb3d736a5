package tofu

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// prepared is where OpenTofu's own folder lies once init has made it for one
// configuration: its backend comes from the environment, so that nothing in it is
// a run's. It saves a start of OpenTofu in every run. Empty means nowhere.
func (e *Engine) prepared(d Deployment, withState bool) string {
	cache, err := e.Environment.CacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, part := range []any{e.Tofu, withState, d.Files, slices.Sorted(maps.Keys(d.Providers)), d.Env} {
		if encoder.Encode(part) != nil {
			return ""
		}
	}
	return filepath.Join(cache, "tofu", hex.EncodeToString(sum.Sum(nil)[:16]))
}

// data is OpenTofu's own folder within the workshop.
func (w *workshop) data() string { return filepath.Join(w.dir, "data") }

// init prepares the folder, or takes the one that an earlier run prepared. It
// never migrates anything: OpenTofu's own folder holds no state of another place.
func (w *workshop) init(ctx context.Context, withState bool) error {
	if w.prepared != "" && os.CopyFS(w.data(), os.DirFS(w.prepared)) == nil {
		return nil
	}
	if err := os.RemoveAll(w.data()); err != nil {
		return err
	}
	s := &stream{log: w.log.In("init")}
	err := w.run(ctx, "init", func(ctx context.Context) error {
		return w.tf.InitJSON(ctx, s, tfexec.Backend(withState))
	}, func() error { _, err := s.result(); return err })
	if err == nil {
		w.remember()
	}
	return err
}

// remember keeps what init made, unless it holds providers or has to go with a
// lock file: these have a cache of their own.
func (w *workshop) remember() {
	for _, path := range []string{filepath.Join(w.data(), "providers"), filepath.Join(w.tf.WorkingDir(), ".terraform.lock.hcl")} {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	if w.prepared == "" || os.MkdirAll(filepath.Dir(w.prepared), 0o700) != nil {
		return
	}
	half, err := os.MkdirTemp(filepath.Dir(w.prepared), ".new-*")
	if err != nil {
		return
	}
	if os.CopyFS(half, os.DirFS(w.data())) != nil || os.Rename(half, w.prepared) != nil {
		_ = os.RemoveAll(half) // prepared anew next time
	}
}
