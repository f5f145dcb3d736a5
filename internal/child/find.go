package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Find looks a program up on the PATH of an environment of "KEY=value" lines,
// never on our own. A name with a slash is taken as it is. The error wraps
// exec.ErrNotFound.
func Find(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		return name, nil
	}
	path := ""
	for _, pair := range env {
		if value, ok := strings.CutPrefix(pair, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a relative entry depends on where we happen to be
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s on PATH %q: %w", name, path, exec.ErrNotFound)
}
