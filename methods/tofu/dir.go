package tofu

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// dir is the run directory: the caller's, or a private one that belongs to this
// state, so that the next run on this host finds it.
func (e *Engine) dir() (path string, private bool, err error) {
	if e.Keys.Dir != "" {
		return string(e.Keys.Dir), false, nil
	}
	cache, err := e.Environment.CacheDir()
	if err != nil {
		return "", false, err
	}
	sum := sha256.Sum256([]byte(e.Backend.Address))
	return filepath.Join(cache, "states", hex.EncodeToString(sum[:8])), true, nil
}
