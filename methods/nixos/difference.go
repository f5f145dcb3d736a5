package nixos

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/methods/remote"
)

// remoteClosureScript prints a closure, an empty line, and the sizes of its
// paths in the same order.
const remoteClosureScript = `
paths=$(nix-store --query --requisites "$1") || exit 1
printf '%s\n\n' "$paths"
printf '%s\n' "$paths" | xargs nix-store --query --size`

// RemoteClosure lists a closure that a machine has, with its sizes.
func RemoteClosure(ctx context.Context, conn *remote.Conn, toplevel string) ([]Path, error) {
	out := bounded.Buffer{Limit: remote.OutputLimit}
	err := step(ctx, conn, "query the closure on the machine", storeLimit, remote.Command{Script: remoteClosureScript, Args: []string{toplevel}, Stdout: &out})
	if err != nil {
		return nil, err
	}
	return parseClosure(out.String())
}

func parseClosure(text string) ([]Path, error) {
	names, sizes, _ := strings.Cut(text, "\n\n")
	list, numbers := strings.Fields(names), strings.Fields(sizes)
	if len(list) == 0 || len(list) != len(numbers) {
		return nil, fmt.Errorf("query the closure on the machine: %d sizes for %d paths", len(numbers), len(list))
	}
	paths := make([]Path, 0, len(list))
	for i, name := range list {
		size, err := strconv.ParseInt(numbers[i], 10, 64)
		if err == nil && size < 0 {
			err = fmt.Errorf("%d bytes", size)
		}
		if err != nil {
			return nil, fmt.Errorf("query the closure on the machine: size of %s: %w", name, err)
		}
		paths = append(paths, Path{Name: name, Size: size})
	}
	return paths, nil
}

// Difference is what one closure has that another has not.
type Difference struct {
	Added, Removed []Path
	Packages       []Package // by name
	Before, After  int64     // bytes of the whole closures
}

// Package is one name of which a closure has other versions than another. What
// has none, such as a configuration file, has the empty version.
type Package struct {
	Name          string
	Before, After []string // versions
	Bytes         int64    // how much more the new closure has of it
}

// String writes a package as a line of a difference.
func (p Package) String() string {
	versions := func(list []string) string {
		if text := strings.Join(list, ", "); text != "" {
			return text
		}
		return "(no version)"
	}
	switch {
	case len(p.Before) == 0:
		return fmt.Sprintf("+ %s %s", p.Name, versions(p.After))
	case len(p.After) == 0:
		return fmt.Sprintf("- %s %s", p.Name, versions(p.Before))
	case slices.Equal(p.Before, p.After):
		return fmt.Sprintf("~ %s %s", p.Name, versions(p.After))
	}
	return fmt.Sprintf("~ %s %s → %s", p.Name, versions(p.Before), versions(p.After))
}

// Compare compares two closures, of which the first may be empty.
func Compare(before, after []Path) Difference {
	d := Difference{Before: total(before), After: total(after)}
	old, now := byName(before), byName(after)
	packages := map[string]*Package{}
	of := func(path Path) (*Package, string) {
		name, version := nameAndVersion(path.Name)
		if packages[name] == nil {
			packages[name] = &Package{Name: name}
		}
		return packages[name], version
	}
	for _, path := range after {
		if _, had := old[path.Name]; !had {
			d.Added = append(d.Added, path)
			p, version := of(path)
			p.After = append(p.After, version)
			p.Bytes += path.Size
		}
	}
	for _, path := range before {
		if _, has := now[path.Name]; !has {
			d.Removed = append(d.Removed, path)
			p, version := of(path)
			p.Before = append(p.Before, version)
			p.Bytes -= path.Size
		}
	}
	for _, p := range slices.SortedFunc(maps.Values(packages), func(a, b *Package) int { return cmp.Compare(a.Name, b.Name) }) {
		for _, list := range []*[]string{&p.Before, &p.After} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		d.Packages = append(d.Packages, *p)
	}
	return d
}

func byName(paths []Path) map[string]Path {
	all := make(map[string]Path, len(paths))
	for _, path := range paths {
		all[path.Name] = path
	}
	return all
}

// hashLength is that of the hash in the name of a store path, with its hyphen.
const hashLength = 33

// nameAndVersion splits the name of a store path as Nix does (Nix manual,
// builtins.parseDrvName): the version begins after the first hyphen that no
// letter follows.
func nameAndVersion(path string) (name, version string) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	if len(base) >= hashLength {
		base = base[hashLength:]
	}
	for i := 0; i+1 < len(base); i++ {
		next := base[i+1]
		if base[i] == '-' && (next < 'a' || next > 'z') && (next < 'A' || next > 'Z') {
			return base[:i], base[i+1:]
		}
	}
	return base, ""
}
