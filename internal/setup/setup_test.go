package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// on runs a setup of parts on a host that has nothing but the given programs, each a
// shell script.
func on(t *testing.T, parts []Part, programs map[string]string) (said string, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755))
	}
	var out bytes.Buffer
	err = Run(t.Context(), env.Map(map[string]string{"PATH": dir}), report.NewLog(report.Plain(&out)), parts)
	return out.String(), err
}

// refuse is a program that must not be called.
const refuse = "echo called: $0 >&2; exit 99\n"

func installed(version string) string {
	var b strings.Builder
	for _, part := range Parts() {
		b.WriteString("echo '" + part.Package + " installed " + version + "'\n")
	}
	return b.String()
}

func TestNothingIsDoneTwice(t *testing.T) {
	said, err := on(t, Parts(), map[string]string{"dpkg-query": installed("1:99"), "dpkg": "exit 0\n", "apt-get": refuse, "sh": refuse, "sudo": refuse})
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(said, "everything is there"), said)
}

func TestWhatIsMissingIsNamedBeforeItIsInstalled(t *testing.T) {
	for _, c := range []struct {
		name  string
		query string
		dpkg  string
		count int
	}{
		{"nothing is installed", "exit 1\n", refuse, len(Parts())},
		{"all is too old", installed("0"), "exit 1\n", len(Parts())},
		{"one was removed", strings.Replace(installed("1:99"), "nix-bin installed", "nix-bin config-files", 1) + "exit 1\n", "exit 0\n", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			said, err := on(t, Parts(), map[string]string{"dpkg-query": c.query, "dpkg": c.dpkg, "sh": "exit 1\n", "sudo": "exit 1\n"})
			assert.Equal(t, report.CodeOf(err), report.Failed)
			assert.Assert(t, strings.Contains(said, "nix-bin 2.8 or later, which evaluates and builds systems"), said)
			assert.Equal(t, strings.Count(said, " or later, which "), c.count)
			assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), ""), "apt-get install"), "what to do: %v", err)
		})
	}
}

func TestServicesThatWereThereGoOn(t *testing.T) {
	// Both run what they are given by name: a shell that only shows it.
	show := "while [ $# -gt 1 ]; do shift; done; echo \"$1\"; exit 1\n"
	for _, c := range []struct {
		name     string
		query    string
		dpkg     string
		disabled bool
	}{
		{"a package is new", "exit 1\n", refuse, true},
		{"a package is too old", "echo served installed 1\n", "exit 1\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			served := Part{Package: "served", Minimum: "2", Why: "serves", Services: []string{"served.service"}}
			said, err := on(t, []Part{served}, map[string]string{"dpkg-query": c.query, "dpkg": c.dpkg, "sh": show, "sudo": show})
			assert.Equal(t, report.CodeOf(err), report.Failed)
			assert.Assert(t, strings.Contains(said, "install "), said)
			assert.Equal(t, strings.Contains(said, "disable served.service"), c.disabled, said)
		})
	}
}

func TestElsewhereWhatIsMissingIsNamed(t *testing.T) {
	said, err := on(t, Parts(), map[string]string{"nix-store": refuse})
	assert.Equal(t, report.CodeOf(err), report.Refused)
	assert.Assert(t, strings.Contains(said, "missing: qemu-img"), said)
	assert.Assert(t, !strings.Contains(said, "nix-store"), said)
}

func TestPartsSayWhatTheyAreFor(t *testing.T) {
	seen := map[string]bool{}
	for _, part := range slices.Concat(Parts(), CheckParts()) {
		assert.Assert(t, part.Package != "" && part.Minimum != "" && part.Why != "", "%+v", part)
		assert.Assert(t, !seen[part.Package], "%s twice", part.Package)
		seen[part.Package] = true
	}
}
