package front

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestApps(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "apps")
	got := run(t, asMain, nil, "slipway", "apps", dir)
	check(t, got, 0, "="+dir+": 38 links, 38 of them new, and 0 removed\n", nil)
	got = run(t, asMage, nil, "mage", "apps", dir)
	check(t, got, 0, "="+dir+": 38 links, 0 of them new, and 0 removed\n", nil)

	// Found on a PATH, it is called by its name alone.
	app := exec.Command(filepath.Join(dir, "hosting-provider-ssh-web"))
	app.Args[0], app.Env = "hosting-provider-ssh-web", []string{roleKey + "=" + asMain, "GOCOVERDIR=" + t.TempDir()}
	out, err := app.Output()
	assert.NilError(t, err)
	assert.Equal(t, string(out), "web deployed\n")

	foreign := filepath.Join(dir, "hosting-provider-all")
	assert.NilError(t, os.Remove(foreign))
	assert.NilError(t, os.WriteFile(foreign, nil, 0o600))
	check(t, run(t, asMain, nil, "slipway", "apps", dir), 4, "=", []string{foreign, "hint: nothing was changed: move these away"})
	check(t, run(t, asMain, nil, "slipway", "apps", foreign), 2, "=", []string{"is no folder"})
	check(t, run(t, asMain, nil, "slipway", "apps"), 2, "=", []string{"which folder?"})
}

func TestABinaryThatGoesAwayIsNotLinkedTo(t *testing.T) {
	t.Parallel()
	for path, passes := range map[string]bool{
		"/root/.cache/go-build/2e/2e17f3d8b4585304089c87aca011a9dc9fbffc70f991cbb04819c71a230b6659-d/slipway": true,
		"/var/cache/go/2e/2e17f3d8b4585304089c87aca011a9dc9fbffc70f991cbb04819c71a230b6659-d/slipway":         true,
		"/tmp/go-build3217486474/b001/exe/slipway":                                                            true,
		"/root/.magefile/0f3d8b4585304089c87aca011a9dc9fbffc70f99":                                            true,
		"/srv/slipway/bin/slipway":           false,
		"/nix/store/abc-slipway/bin/slipway": false,
	} {
		assert.Equal(t, passing.MatchString(path), passes, path)
	}
}

func TestHelpOfAnAppSaysHowItStands(t *testing.T) {
	t.Parallel()
	const hush = "hush-hush-0123456789"
	got := run(t, asMain, []string{"WEB_FAKE_HOST=x", "DB_FAKE_PORT=x", "FAKE_TOKEN=" + hush}, "hosting-provider-ssh-db", "--help")
	check(t, got, 0, "verbs: apply, refuse, wait, stay, rollback [FAKE_GENERATION]\n", nil)
	for _, text := range []string{
		"; required)\n      missing\n", `      "x" is not made of digits alone, from DB_FAKE_PORT`, "      now [redacted]\n",
		"\nmissing or malformed: DB_FAKE_PORT, FAKE_HOST\n",
	} {
		assert.Assert(t, cmp.Contains(got.out, text))
	}
	assert.Assert(t, !strings.Contains(got.out, hush))
}
