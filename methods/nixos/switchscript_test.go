package nixos

import (
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// What the switch program of a case does, in a folder where it finds itself.
const (
	arrives = `ln -sfn "$PWD" current-system; `
	leaves  = `echo multi-user.target >lists/start-list; `
	ends    = `rm -f lists/start-list lists/reload-list; `
	first   = `[ ! -e second ] || { ` + ends + `exit 0; }; : >second; `
)

func TestSwitchScript(t *testing.T) {
	for _, c := range []struct {
		name    string
		active  string // state of each unit
		before  string // script
		program string
		back    string
		code    int // -1 for a signal
		times   int
		half    bool
		says    string
	}{
		{name: "well", program: arrives + leaves + ends, times: 1},
		{name: "with failed units", program: arrives + leaves + ends + "exit 4", code: 4, times: 1},
		{name: "with a failed activation", program: arrives + "exit 2", code: 2, times: 1},
		{name: "refused", program: "exit 1", code: 1, times: 1},
		{name: "refused, beside what another left long ago", before: leaves + "touch -d 2001-01-01 lists/*", program: "exit 1", code: 1, times: 1},
		{name: "refused, where the system runs already", before: arrives, program: "exit 1", code: 1, times: 1},
		{name: "for a reboot", program: "exit 100", code: 100, times: 1},
		{name: "with another under way", program: "exit 11", code: 11, times: 1},
		{
			name: "with another under way that has begun", before: arrives,
			program: leaves + `exec 7>>lists/switch-to-configuration.lock; flock 7; (while [ -e program ] && [ ! -e over ]; do /bin/sleep 0.05; done) >/dev/null 2>&1 & exit 11`, code: 11, times: 1,
		},
		{name: "died while it stopped units", program: leaves + "exit 1", code: 1, times: 1, half: true},
		{name: "died after activation, then well", program: first + arrives + leaves + "exit 1", times: 2, says: onceMore + " (exit code 1); once more"},
		{name: "died after activation with nothing left to start, then well", program: first + arrives + "exit 1", times: 2},
		{name: "died with the number of a lock, then well", program: first + arrives + leaves + "exit 11", times: 2},
		{name: "died with the number of failed units, then well", program: first + arrives + leaves + "exit 4", times: 2},
		{name: "crashed, then well", program: first + arrives + leaves + "exit 101", times: 2},
		{name: "died twice", program: arrives + leaves + "exit 11", code: 11, times: 2, half: true},
		{name: "by a signal", program: arrives + leaves + "kill -9 $$", code: -1, times: 1},
		{
			name: "with a unit to reload that is gone", active: "inactive", before: "echo gone.mount >lists/reload-list",
			program: `! grep -q gone.mount lists/reload-list || exit 1; ` + arrives + ends, times: 1, says: "gone.mount",
		},
		{
			name: "with a unit to reload that is down, and the system's own", active: "inactive", before: "mkdir -p etc/systemd/system; : >etc/systemd/system/web.service; echo web.service >lists/reload-list",
			program: `[ "$(cat lists/start-list)" = web.service ] || exit 1; ` + arrives + ends, times: 1,
		},
		{
			name: "with a unit to reload that is up", active: "active", before: "echo web.service >lists/reload-list",
			program: `[ "$(cat lists/reload-list)" = web.service ] || exit 1; ` + arrives + ends, times: 1,
		},
		{
			name: "died of a unit to reload that is gone, then well", active: "inactive",
			program: arrives + leaves + `if [ ! -e second ]; then : >second; echo gone.mount >lists/reload-list; fi; ! grep -q gone.mount lists/reload-list || exit 1; ` + ends, times: 2,
		},
		{name: "forward, asking the checks", program: `[ -z "$NIXOS_NO_CHECK" ] || exit 1; ` + arrives, times: 1},
		{name: "back, whatever the checks say", back: "back", program: `[ "$NIXOS_NO_CHECK" = 1 ] || exit 1; ` + arrives, times: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, "")
			assert.NilError(t, os.Mkdir(m.dir.Join("lists"), 0o700))
			m.write("unit/ActiveState", c.active)
			m.write("program", c.program)
			assert.NilError(t, os.Symlink(oldSystem, m.dir.Join("current-system")))
			assert.NilError(t, m.run("cd "+m.dir.Path()+"; "+c.before))
			out, err := m.output(switchScript, m.dir.Path(), m.dir.Join("run", "own"), c.back)
			m.write("over", "")
			assert.Equal(t, m.exitCode(err), c.code)
			assert.Equal(t, strings.Count(m.read("done"), "went back"), c.times)
			_, err = os.Stat(m.dir.Join("run/own/half"))
			assert.Equal(t, err == nil, c.half, "whether it died half-way")
			assert.Assert(t, strings.Contains(out, c.says))
		})
	}
}
