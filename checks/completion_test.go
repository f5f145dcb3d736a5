//go:build checks

package checks

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/toolchain"
	"fediversity.eu/slipway/targets/report"
)

// TestCompletion presses Tab in each shell, and reads the manual page.
func TestCompletion(t *testing.T) {
	if !present("tmux") {
		t.Skip("missing part: tmux")
	}
	module, err := toolchain.Module()
	assert.NilError(t, err)
	for shell, rc := range map[string]struct{ file, text string }{
		"bash": {".bashrc", "PS1='> '\nsource <(slipway completion bash)\n"},
		"zsh":  {".zshrc", "PROMPT='> '\nautoload -Uz compinit; compinit -u\nsource <(slipway completion zsh)\n"},
		"fish": {".config/fish/config.fish", "function fish_prompt; echo -n '> '; end\nslipway completion fish | source\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skip("missing part: " + shell)
			}
			home := t.TempDir()
			file := filepath.Join(home, rc.file)
			assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			assert.NilError(t, os.WriteFile(file, []byte(rc.text), 0o644))
			settle(t, home)
			x := newTmux(t, []string{"HOME=" + home, "SHELL=" + path, "PATH=" + filepath.Dir(binary(t)) + ":/usr/bin:/bin"})
			x.open("shell", module, "exec "+path+" -i")
			x.see("shell", ">")
			for typed, whole := range map[string]string{
				"slipway operator-ssh-web-ver":               "slipway operator-ssh-web-verify",
				"slipway check operator-web operator-dns-du": "slipway check operator-web operator-dns-dump",
				"slipway operator:sshWebVer":                 "slipway operator:sshWebVerify",
				"slipway help SSH_CONF":                      "slipway help SSH_CONFIRM_TIMEOUT",
				"slipway contr":                              "slipway contract",
				"slipway contract sch":                       "slipway contract schema",
				"slipway shell hosting-provider-tf-ga":       "slipway shell hosting-provider-tf-gateway",
				"slipway set":                                "slipway setup",
				"mage operator:sshWebVer":                    "mage operator:sshWebVerify",
				"mage contract:k":                            "mage contract:keys",
				"mage checks:al":                             "mage checks:all",
				"mage module:":                               "mage module:json",
				"slipway help PIPELINE_R":                    "slipway help PIPELINE_RUNNER",
			} {
				x.do("send-keys", "-t", "shell", "-l", typed)
				x.see("shell", "> "+typed)
				x.do("send-keys", "-t", "shell", "Tab")
				// A whole word is followed by a space; what fish only suggests is not.
				completed(x, typed, whole)
				x.do("send-keys", "-t", "shell", "C-u")
			}
			x.do("kill-session", "-t", "shell")
		})
	}

	t.Run("manual page", func(t *testing.T) {
		if !present("mandoc") {
			t.Skip("missing part: mandoc")
		}
		w := &world{t: t, dir: t.TempDir(), env: map[string]string{"PATH": "/usr/bin:/bin"}}
		o := w.slipway(nil, "man")
		assert.Equal(t, o.code, report.Healthy)
		page := filepath.Join(w.dir, "slipway.1")
		assert.NilError(t, os.WriteFile(page, []byte(o.stdout), 0o644))
		said, err := child.Command{Path: "mandoc", Args: []string{"-T", "lint", "-W", "warning", page}, Env: pairs(w.env)}.Output(t.Context())
		assert.NilError(t, err, "%s", said)
		text, err := child.Command{Path: "mandoc", Args: []string{"-T", "utf8", page}, Env: pairs(w.env)}.Output(t.Context())
		assert.NilError(t, err)
		for _, word := range []string{"contract [programs|keys|schema]", "SSH_HOST_KEY", "operator", "reboot needed"} {
			assert.Check(t, strings.Contains(overstruck.ReplaceAllString(string(text), ""), word), "%q is not in it", word)
		}
	})
}

// overstruck is what makes a letter bold on paper: the letter, and a step back.
var overstruck = regexp.MustCompile(`.\x08`)

// completed types on until the word stands whole: a shell that is slow to answer
// takes the letter after the word.
func completed(x *tmux, typed, whole string) {
	x.t.Helper()
	x.do("send-keys", "-t", "shell", "-l", "X")
	poll.WaitOn(x.t, func(poll.LogT) poll.Result {
		screen := x.screen("shell")
		if strings.Contains(screen, "> "+whole+" X") {
			return poll.Success()
		}
		return poll.Continue("%q did not become %q:\n%s", typed, whole, screen)
	}, poll.WithTimeout(time.Minute), poll.WithDelay(50*time.Millisecond))
}
