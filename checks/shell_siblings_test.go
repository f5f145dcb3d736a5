//go:build checks

package checks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
)

// aState is a state that holds one machine.
const aState = `{"version":4,"terraform_version":"1.12.0","serial":3,"lineage":"3f0d6a0e-6c1f-4c57-9d5e-0a6a4b3c2d1e","outputs":{},"resources":[
{"mode":"managed","type":"slipway_machine","name":"web","provider":"provider[\"fediversity.eu/slipway/slipway\"]","instances":[{"schema_version":0,"attributes":{"name":"operator-web"}}]}]}`

// shellUnderTest is one of the shells, with the file of its owner, who has a word
// of their own and a prompt.
type shellUnderTest struct {
	name, file, text string
	code             string // the exit code of the last command
	where            string // shows where a word comes from
}

func shells() []shellUnderTest {
	return []shellUnderTest{
		{"bash", ".bashrc", "mine() { echo rc-$((40+2)); }\nPS1='mine> '\nPATH=/usr/bin:/bin\n", "$?", "type -P"},
		{"zsh", ".zshrc", "mine() { echo rc-$((40+2)) }\nPROMPT='mine> '\npath=(/usr/bin /bin)\n", "$?", "whence -p"},
		{"fish", ".config/fish/config.fish", "function mine; echo rc-(math 40 + 2); end\nfunction fish_prompt; echo -n 'mine> '; end\nset -gx PATH /usr/bin /bin\n", "$status", "type -P"},
	}
}

// TestShellSiblings sits down at each shell in a terminal.
func TestShellSiblings(t *testing.T) {
	if !present("tmux") {
		t.Skip("missing part: tmux")
	}
	for _, s := range shells() {
		t.Run(s.name, func(t *testing.T) {
			path, err := exec.LookPath(s.name)
			if err != nil {
				t.Skip("missing part: " + s.name)
			}
			sit(t, s, path)
		})
	}
}

func sit(t *testing.T, s shellUnderTest, path string) {
	t.Helper()
	w := newWorld(t)
	b := w.stateful("web")
	assert.Equal(t, b.Post(t.Context(), aState, "").Status, 200)
	file, tmp := filepath.Join(w.dir, s.file), filepath.Join(w.dir, "tmp")
	assert.NilError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	assert.NilError(t, os.WriteFile(file, []byte(s.text), 0o644))
	assert.NilError(t, os.Mkdir(tmp, 0o700))
	settle(t, w.dir)
	const hush = "hush-hush-0123456789"
	environment := w.with(map[string]string{"SHELL": path, "TMPDIR": tmp, "SSH_KEY": hush, "OWN_VARIABLE": "own"})
	x := newTmux(t, pairs(environment))
	prompt := "(operator-tf-web) mine>"
	gone := func() {
		t.Helper()
		entries, err := os.ReadDir(tmp)
		assert.NilError(t, err)
		for _, entry := range entries {
			assert.Check(t, !strings.HasPrefix(entry.Name(), "slipway-"), "%s is left", entry.Name())
		}
	}

	x.open("first", w.dir, binary(t)+" shell operator-tf-web; echo left-$?; sleep 1000")
	seen := x.see("first", prompt)
	for _, text := range []string{"verbs: apply, destroy, plan", "[redacted]", "missing", "tofu does by these verbs: plan", "main.tf.json", "coordinates shows every variable"} {
		assert.Check(t, strings.Contains(seen, text), "%q is not in\n%s", text, seen)
	}
	assert.Assert(t, !strings.Contains(seen, hush))

	n := 0
	// does types a line and waits for its exit code, and gives the screen.
	does := func(line string, code int) string {
		t.Helper()
		n++
		x.do("clear-history", "-t", "first")
		x.write("first", fmt.Sprintf("%s; echo end-%d-%s", line, n, s.code))
		return x.see("first", fmt.Sprintf("\nend-%d-%d", n, code))
	}
	does("mine", 0)
	x.see("first", "\nrc-42")
	does("echo own-is-$OWN_VARIABLE", 0)
	x.see("first", "\nown-is-own")
	does(s.where+" apply", 0)
	x.see("first", "/bin/apply")
	does("plan", 2)
	x.see("first", "SSH_HOST: missing")
	does("coordinates", 0)
	x.see("first", "missing or malformed: SSH_HOST, SSH_HOST_KEY")
	does("tofu state list", 0)
	x.see("first", "\nslipway_machine.web")
	does("tofu validate", 0)
	does("tofu apply", 4)
	x.see("first", "without the word tofu before it, this does it: apply")
	does("tofu state rm slipway_machine.web", 4)
	assert.Equal(t, b.Get(t.Context()).Body, aState, "the state was changed")
	does("tofu init", 0)

	// What is exported counts for the next verb.
	does("export STATE_SERIAL=4", 0)
	does("state-list", 4)
	x.see("first", "older")

	// A key that interrupts is the shell's, and what it runs. What is typed before the
	// prompt is back may be thrown away with the line.
	interrupt := func() {
		t.Helper()
		x.do("send-keys", "-t", "first", "C-c")
		x.ends("first", prompt)
	}
	x.do("send-keys", "-t", "first", "-l", "never-run")
	x.see("first", prompt+" never-run")
	interrupt()
	x.write("first", "sleep 1000")
	x.see("first", "sleep 1000")
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if at := strings.TrimSpace(x.do("display-message", "-p", "-t", "first", "#{pane_current_command}")); at != "sleep" {
			return poll.Continue("in the foreground is %s", at)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
	interrupt()
	does("mine", 0)

	x.write("first", "exit 7")
	x.see("first", "\nleft-0")
	gone()
	x.do("kill-session", "-t", "first")

	for name, leave := range map[string]func(){
		"hangup": func() { x.do("kill-session", "-t", "hangup") },
		"sigterm": func() {
			pid, err := strconv.Atoi(strings.TrimSpace(x.do("display-message", "-p", "-t", "sigterm", "#{pane_pid}")))
			assert.NilError(t, err)
			assert.NilError(t, syscall.Kill(pid, syscall.SIGTERM))
		},
	} {
		x.open(name, w.dir, "exec "+binary(t)+" shell operator-tf-web")
		x.see(name, prompt)
		leave()
		x.closed(name)
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			entries, err := os.ReadDir(tmp)
			assert.NilError(t, err)
			for _, entry := range entries {
				if strings.HasPrefix(entry.Name(), "slipway-") {
					return poll.Continue("after %s, %s is left", name, entry.Name())
				}
			}
			return poll.Success()
		}, poll.WithTimeout(time.Minute))
	}
}
