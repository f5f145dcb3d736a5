package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Archive is where packages are taken from.
type Archive struct {
	URI     string
	Keyring string // file that holds the keys of its signers
}

// ErrNoArchive means that the host's apt is not configured for any Debian
// archive.
var ErrNoArchive = errors.New("no Debian archive in apt's sources")

// debianKeyring is where the package debian-archive-keyring puts its keys.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// HostArchive finds the Debian archive in the host's own apt sources, in both
// of apt's formats. Where none is for the suite, one for any release of Debian
// will do. The error is ErrNoArchive when there is none.
func HostArchive(ctx context.Context, suite Suite) (Archive, error) {
	files := []string{"/etc/apt/sources.list"}
	parts, err := filepath.Glob("/etc/apt/sources.list.d/*")
	if err != nil {
		return Archive{}, err
	}
	sort.Strings(parts)
	var entries []sourceEntry
	for _, file := range append(files, parts...) {
		if ctx.Err() != nil {
			return Archive{}, context.Cause(ctx)
		}
		var parse func(string) []sourceEntry
		switch filepath.Ext(file) {
		case ".list":
			parse = parseList
		case ".sources":
			parse = parseDeb822
		default:
			continue // apt ignores other names too
		}
		text, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return Archive{}, fmt.Errorf("read apt's sources: %w", err)
		}
		entries = append(entries, parse(string(text))...)
	}
	return choose(entries, string(suite))
}

// sourceEntry is one archive of a source file.
type sourceEntry struct {
	uri, suite, keyring string
}

// choose takes the first entry for a suite, else the first for any: an
// archive carries all suites beside each other.
func choose(entries []sourceEntry, suite string) (Archive, error) {
	var found *sourceEntry
	for i, entry := range entries {
		if !strings.HasSuffix(strings.TrimRight(entry.uri, "/"), "/debian") {
			continue // the security archive, another distribution, somebody's own
		}
		if found == nil || found.suite != suite && entry.suite == suite {
			found = &entries[i]
		}
	}
	if found == nil {
		return Archive{}, ErrNoArchive
	}
	archive := Archive{URI: found.uri, Keyring: found.keyring}
	if archive.Keyring == "" {
		archive.Keyring = debianKeyring
	}
	return archive, nil
}

// parseList reads apt's one-line format, sources.list(5):
// deb [option=value …] uri suite component ….
func parseList(text string) []sourceEntry {
	var entries []sourceEntry
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb")
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' && rest[0] != '[' {
			continue
		}
		rest = strings.TrimSpace(rest)
		var entry sourceEntry
		if strings.HasPrefix(rest, "[") {
			options, after, closed := strings.Cut(rest[1:], "]")
			if !closed {
				continue
			}
			for option := range strings.FieldsSeq(options) {
				if value, ok := strings.CutPrefix(option, "signed-by="); ok {
					entry.keyring = keyringFile(value)
				}
			}
			rest = after
		}
		words := strings.Fields(rest)
		if len(words) < 3 {
			continue
		}
		entry.uri, entry.suite = words[0], words[1]
		entries = append(entries, entry)
	}
	return entries
}

// parseDeb822 reads apt's paragraph format: one entry for each pair of URI and
// suite of an enabled paragraph.
func parseDeb822(text string) []sourceEntry {
	var entries []sourceEntry
	fields := map[string]string{}
	last := ""
	flush := func() {
		if strings.Contains(" "+fields["types"]+" ", " deb ") && fields["enabled"] != "no" {
			for uri := range strings.FieldsSeq(fields["uris"]) {
				for suite := range strings.FieldsSeq(fields["suites"]) {
					entries = append(entries, sourceEntry{uri, suite, keyringFile(fields["signed-by"])})
				}
			}
		}
		clear(fields)
		last = ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				fields[last] += " " + strings.TrimSpace(line)
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if ok {
				last = strings.ToLower(name)
				fields[last] = strings.TrimSpace(value)
			}
		}
	}
	flush()
	return entries
}

// keyringFile takes the first file of a Signed-By value; fingerprints and keys
// given inline are no files.
func keyringFile(value string) string {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return r == ' ' || r == ',' }) {
		if strings.HasPrefix(word, "/") {
			return word
		}
	}
	return ""
}
