package program

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

const hush = "hush-hush-0123456789"

// telling is a world whose tasks tell their secret in every way there is.
func telling(t *testing.T) *world {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.keys = withHostKeys
	w.ssh.do = func(_ context.Context, task *work, run *task.Run) error {
		keys := task.keys[0].(*hostKeys)
		secret := keys.Token.Reveal()
		run.Log.Infof("token %s", secret)
		run.Log.In("step "+secret).Warnf("keys %+v", keys)
		run.Log.Troublef("in base64: %s", base64.StdEncoding.EncodeToString([]byte(secret)))
		lines := run.Log.Lines()
		_, _ = io.WriteString(lines, "another program says "+secret[:8])
		_, _ = io.WriteString(lines, secret[8:]+"\n")
		_ = lines.Close()
		_, _ = io.WriteString(run.Out, "result "+secret[:5])
		_, _ = io.WriteString(run.Out, secret[5:]+"\n")
		_, _ = io.WriteString(run.Out, secret) // kept back until the session ends
		return report.Fail("deploy with "+secret, fmt.Errorf("%s does not open the door", secret), "ask for another than "+secret)
	}
	return w
}

func TestSecretsAreInNoOutput(t *testing.T) {
	for _, progress := range []string{"plain", "json", "auto"} {
		for _, rest := range []string{"ssh-web", "all"} {
			t.Run(rest+" "+progress, func(t *testing.T) {
				w := telling(t)
				var out, log bytes.Buffer
				session, err := w.registry.NewSession(t.Context(), env.Map(map[string]string{
					"WEB_FAKE_HOST": "web.example", "MAIL_FAKE_HOST": "mail.example", "FAKE_TOKEN": hush, "PROGRESS": progress,
				}), Streams{Out: &out, Err: &log, Size: func() (int, int) { return 400, 50 }})
				assert.NilError(t, err)
				assert.Equal(t, report.CodeOf(session.Run(t.Context(), callsOf(w.name(rest))...)), report.Failed)
				session.Close()
				for name, text := range map[string]string{"results": out.String(), "events": log.String()} {
					assert.Assert(t, cmp.Contains(text, "[redacted]"), name)
					assert.Assert(t, name == "results" || strings.Contains(text, "does not open the door"), text)
					assert.Assert(t, !strings.Contains(text, hush), "%s: %s", name, text)
					assert.Assert(t, !strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(hush))), "%s: %s", name, text)
				}
				assert.Assert(t, strings.HasSuffix(strings.TrimSpace(out.String()), "[redacted]"), "what was kept back is handed on")
			})
		}
	}
}

func TestSecretsAreInNoRecord(t *testing.T) {
	for _, rest := range []string{"ssh-web", "all"} {
		t.Run(rest, func(t *testing.T) {
			w := telling(t)
			path := filepath.Join(t.TempDir(), "record.json")
			w.run(t.Context(), map[string]string{
				"WEB_FAKE_HOST": "web.example", "MAIL_FAKE_HOST": "mail.example", "FAKE_TOKEN": hush, "REPORT": path,
			}, rest)
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			assert.Assert(t, cmp.Contains(string(text), "does not open the door"))
			assert.Assert(t, !strings.Contains(string(text), hush), "%s", text)
			recordAt(t, path)
		})
	}
}

func TestSecretsAreInNoProblem(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.keys = withHostKeys
	file := filepath.Join(t.TempDir(), "token")
	assert.NilError(t, os.WriteFile(file, []byte(hush+"\n"), 0o600))
	got := w.run(t.Context(), map[string]string{"FAKE_TOKEN": hush, "FAKE_TOKEN_FILE": file, "FAKE_HOST": hush + " " + hush}, "ssh-web")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.ErrorContains(t, got.err, "FAKE_TOKEN: set together with FAKE_TOKEN_FILE")
	assert.Assert(t, !strings.Contains(got.err.Error(), hush), got.err.Error())
}
