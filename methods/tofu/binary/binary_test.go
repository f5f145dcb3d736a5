package binary

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

func TestPinIsTheVersionThatIsBuilt(t *testing.T) {
	for _, want := range []string{
		"github.com/opentofu/opentofu v" + Pinned, "tool " + command,
		"replace github.com/hashicorp/hcl/v2 => github.com/opentofu/hcl/v2 ", "tlsmlkem=0", "winsymlink=0",
	} {
		assert.Assert(t, strings.Contains(string(pinMod), want), want)
	}
	assert.Assert(t, strings.Contains(string(pinSum), "github.com/opentofu/opentofu v"+Pinned+" h1:"))
}

func TestAsk(t *testing.T) {
	elf := []byte{0x7f, 'E', 'L', 'F'}
	for _, c := range []struct {
		name string
		file string
		says string
	}{
		{"a script around it", "#!/bin/sh\nexec tofu \"$@\"\n", "it is a script, not the program itself"},
		{"a program that does not run", string(elf), "run "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := fs.NewDir(t, "bin", fs.WithFile("tofu", c.file, fs.WithMode(0o755)))
			p := &prober{env: env.Map(nil), memory: filepath.Join(t.TempDir(), "versions")}
			_, err := p.version(t.Context(), dir.Join("tofu"))
			assert.ErrorContains(t, err, c.says)
			assert.Assert(t, strings.Contains(p.passed(), dir.Join("tofu")+" ("), "a person is told what was passed over")
		})
	}
}

func TestWhatIsKnownIsNotAskedAgain(t *testing.T) {
	dir := fs.NewDir(t, "bin", fs.WithFile("tofu", "not a program", fs.WithMode(0o755)))
	path := dir.Join("tofu")
	info, err := os.Stat(path)
	assert.NilError(t, err)
	p := &prober{env: env.Map(nil), memory: filepath.Join(t.TempDir(), "tools", "versions")}
	p.keep(map[string]string{fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano()): "1.12.9-dev"})
	v, err := p.version(t.Context(), path)
	assert.NilError(t, err)
	assert.Equal(t, v.String(), "1.12.9", "a build between releases counts as the release")

	assert.NilError(t, os.WriteFile(path, []byte("not a program either"), 0o755))
	_, err = p.version(t.Context(), path)
	assert.ErrorContains(t, err, "run ", "another file is asked")
}

func TestNamedMustBeNewEnough(t *testing.T) {
	dir := fs.NewDir(t, "bin", fs.WithFile("tofu", "x", fs.WithMode(0o755)))
	cache := t.TempDir()
	e := env.Map(map[string]string{"CACHE_DIR": cache})
	p, _, _, err := prepare(e)
	assert.NilError(t, err)
	info, err := os.Stat(dir.Join("tofu"))
	assert.NilError(t, err)
	key := fmt.Sprintf("%s %d %d", dir.Join("tofu"), info.Size(), info.ModTime().UnixNano())
	find := func() (*Tofu, error) {
		var k Keys
		k.Path = env.Path(dir.Join("tofu"))
		return Find(t.Context(), e, k, toolchain.Keys{}, nil)
	}
	p.keep(map[string]string{key: "1.6.2"})
	_, err = find()
	assert.Equal(t, report.CodeOf(err), report.Usage)
	assert.ErrorContains(t, err, "it is 1.6.2, needed is >= 1.12.0")
	p.keep(map[string]string{key: "1.12.6"})
	found, err := find()
	assert.NilError(t, err)
	assert.DeepEqual(t, found, &Tofu{Path: dir.Join("tofu"), Version: "1.12.6"})
}
