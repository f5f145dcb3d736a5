package program

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// pageAt reads a page that a run wrote.
func pageAt(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	return string(text)
}

func TestEveryRunLeavesItsPage(t *testing.T) {
	for _, c := range []struct {
		name string
		rest string
		do   func(context.Context, *work, *task.Run) error
		stop bool
		says string
	}{
		{"that ends well", "ssh-web", nil, false, "<title>done: "},
		{"that fails", "ssh-web", func(context.Context, *work, *task.Run) error {
			return report.Fail("copy", errors.New("the disk is full"), "make room")
		}, false, "copy: the disk is full"},
		{"that panics", "combined", func(context.Context, *work, *task.Run) error { panic("alas") }, false, "panic: alas"},
		{"that is interrupted", "all", nil, true, "<title>interrupted: "},
		{"of an unknown program", "ssh-wbe", nil, false, "unknown program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web"), internal("db"))
			w.ssh.do = c.do
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.stop {
				cancel(&report.Interruption{Signal: os.Interrupt})
			}
			path := filepath.Join(t.TempDir(), "page.html")
			w.run(ctx, map[string]string{"REPORT_HTML": path}, c.rest)
			assert.Assert(t, cmp.Contains(pageAt(t, path), c.says))
			entries, err := os.ReadDir(filepath.Dir(path))
			assert.NilError(t, err)
			assert.Assert(t, cmp.Len(entries, 1), "nothing lies beside it")
		})
	}
}

func TestSecretsAreOnNoPage(t *testing.T) {
	for _, rest := range []string{"ssh-web", "all"} {
		t.Run(rest, func(t *testing.T) {
			w := telling(t)
			path := filepath.Join(t.TempDir(), "page.html")
			w.run(t.Context(), map[string]string{
				"WEB_FAKE_HOST": "web.example", "MAIL_FAKE_HOST": "mail.example", "FAKE_TOKEN": hush, "REPORT_HTML": path,
			}, rest)
			text := pageAt(t, path)
			assert.Assert(t, cmp.Contains(text, "[redacted] does not open the door"))
			assert.Assert(t, !strings.Contains(text, hush), "%s", text)
		})
	}
}

func TestARecordSaysWhatItsMembersWaitedFor(t *testing.T) {
	w := newWorld(t, machine("web", "forge"), machine("forge"), internal("db"))
	path := filepath.Join(t.TempDir(), "record.json")
	w.run(t.Context(), map[string]string{"REPORT": path}, "combined")
	needs := map[string][]string{}
	for _, m := range recordAt(t, path).Members {
		needs[m.Machine] = m.Needs
	}
	assert.DeepEqual(t, needs, map[string][]string{
		"web": {w.name("ssh-forge-apply"), w.name("ssh-db-apply")}, "forge": {w.name("ssh-db-apply")}, "db": nil,
	})
}
