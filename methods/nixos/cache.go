package nixos

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// keptEvaluations is how many evaluations of a deployment stay in the cache,
// and with them their derivations and systems in the store.
const keptEvaluations = 5

// touch marks an evaluation as used, for prune.
func touch(dir string) {
	now := time.Now()
	_ = os.Chtimes(dir, now, now)
}

// prune removes all but the evaluations that were used last. Without their
// roots, what they gave is garbage that Nix may collect.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("prune evaluations: %w", err)
	}
	type used struct {
		path string
		at   time.Time
	}
	var all []used
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && entry.IsDir() {
			all = append(all, used{filepath.Join(dir, entry.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b used) int { return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.path, b.path)) })
	for _, old := range all[min(len(all), keptEvaluations):] {
		if err := os.RemoveAll(old.path); err != nil {
			return fmt.Errorf("prune evaluations: %w", err)
		}
	}
	return nil
}
