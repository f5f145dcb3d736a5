package nixos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Path is one path of a closure.
type Path struct {
	Name string // "/nix/store/…"
	Size int64  // bytes of its NAR
}

// Closure lists a store path and everything it refers to, in an order in which
// each path comes after those that it refers to.
func (t *Tool) Closure(ctx context.Context, toplevel string) ([]Path, error) {
	out, err := t.output(ctx, "nix-store", "--query", "--requisites", toplevel)
	if err != nil {
		return nil, fmt.Errorf("query the closure: %w", err)
	}
	names := strings.Fields(string(out))
	paths := make([]Path, 0, len(names))
	for _, name := range names {
		paths = append(paths, Path{Name: name})
	}
	return paths, nil
}

// Sizes fills in the sizes of paths.
func (t *Tool) Sizes(ctx context.Context, paths []Path) error {
	args := append([]string{"--query", "--size"}, names(paths)...)
	out, err := t.output(ctx, "nix-store", args...)
	if err != nil {
		return fmt.Errorf("query the sizes of the closure: %w", err)
	}
	sizes := strings.Fields(string(out))
	if len(sizes) != len(paths) {
		return fmt.Errorf("query the sizes of the closure: %d answers for %d paths", len(sizes), len(paths))
	}
	for i, size := range sizes {
		if paths[i].Size, err = strconv.ParseInt(size, 10, 64); err != nil {
			return fmt.Errorf("query the sizes of the closure: %w", err)
		}
	}
	return nil
}

func names(paths []Path) []string {
	list := make([]string, 0, len(paths))
	for _, path := range paths {
		list = append(list, path.Name)
	}
	return list
}

func total(paths []Path) int64 {
	var sum int64
	for _, path := range paths {
		sum += path.Size
	}
	return sum
}
