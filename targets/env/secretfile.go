package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// largest is how many bytes a secret's file may hold.
const largest = 1 << 20

// secretFiles reads files once, so that all machines of a run see the same and a
// pipe, which gives its text once, can serve them all.
type secretFiles struct {
	mutex sync.Mutex
	texts map[string]string
}

// read returns what the file at path holds, without one line end at its end. The
// error says what is wrong in words that go on from the variable's name; it
// repeats path only where it can't be a secret that went into the wrong variable.
func (f *secretFiles) read(ctx context.Context, path string) (string, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if text, ok := f.texts[path]; ok {
		return text, nil
	}
	text, err := readSecret(ctx, path)
	if err != nil {
		return "", fmt.Errorf("%s %w", pathInWords(path), err)
	}
	if f.texts == nil {
		f.texts = make(map[string]string)
	}
	f.texts[path] = text
	return text, nil
}

func readSecret(ctx context.Context, path string) (string, error) {
	if err := new(Path).EnvDecode(path); err != nil {
		return "", err
	}
	if inStore(path) {
		return "", errors.New("is in the Nix store, which everybody can read")
	}
	// Non-blocking, so that a pipe without a writer is empty instead of for ever.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("does not exist")
	}
	if err != nil {
		return "", fmt.Errorf("can't be opened: %w", cause(err))
	}
	defer file.Close() //nolint:errcheck // Nothing was written.
	// Only pipes know deadlines, and only pipes need one.
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })()

	raw, err := io.ReadAll(io.LimitReader(file, largest+1))
	text := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	switch {
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("was not read to its end: %w", context.Cause(ctx))
	case err != nil:
		return "", fmt.Errorf("can't be read: %w", cause(err))
	case len(raw) > largest:
		return "", fmt.Errorf("holds more than %d bytes", largest)
	case text == "":
		return "", errors.New("is empty")
	}
	return text, nil
}

// inStore says whether path, or what it leads to, lies in the Nix store.
func inStore(path string) bool {
	const store = "/nix/store/"
	target, err := filepath.EvalSymlinks(path)
	return strings.HasPrefix(filepath.Clean(path), store) || err == nil && strings.HasPrefix(target, store)
}

// pathInWords quotes path where it looks like one. A token that was put into the
// wrong variable would be printed otherwise.
func pathInWords(path string) string {
	for _, start := range []string{"/", "./", "../"} {
		if strings.HasPrefix(path, start) && oneLine(path) == nil {
			return strconv.Quote(path)
		}
	}
	return "the file it names"
}

// isFile reports whether a secret is the path of a file that is there: then it was
// meant for the variable that names one.
func (e Environment) isFile(secret string) bool {
	path := strings.TrimSpace(secret)
	if inHome, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(e.value("HOME"), inHome)
	}
	if !strings.Contains(path, "/") || oneLine(path) != nil {
		return false
	}
	found, err := os.Stat(path)
	return err == nil && found.Mode().IsRegular()
}

// cause drops operation and path from err, which the caller tells already.
func cause(err error) error {
	if withPath, ok := errors.AsType[*fs.PathError](err); ok {
		return withPath.Err
	}
	return err
}
