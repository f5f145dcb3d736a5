package nixos

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
)

// aMachine is a folder in which a script finds what it looks for on a machine:
// systemctl answers from files beside it, and a pause takes ten seconds of a
// clock of its own, after which a script may do what others do meanwhile.
type aMachine struct {
	t   *testing.T
	dir *fs.Dir
}

func newMachine(t *testing.T, then string) aMachine {
	t.Helper()
	program := func(name, text string) fs.PathOp {
		return fs.WithFile(name, "#!/bin/sh\nhere="+`$(cd -P "${0%/*}/.." && pwd)`+"\n"+text+"\n", fs.WithMode(0o755))
	}
	dir := fs.NewDir(t, "machine",
		fs.WithFile("uptime", "1000.00 0.00\n"),
		fs.WithDir("run", fs.WithDir("own")), fs.WithDir("lib"), fs.WithDir("gcroots"), fs.WithDir("unit"),
		fs.WithDir("bin",
			program("systemctl", `echo "systemctl $*" >>"$here/done"; [ "$1" = show ] || exit 0; property=${3#*=}; cat "$here/unit/$property" 2>/dev/null; :`),
			program("systemd-run", `echo "systemd-run $1" >>"$here/done"; case $1 in *guard*) exit "$(cat "$here/guard-starts")" ;; esac; exit "$(cat "$here/unit-starts")"`),
			program("switch-to-configuration", `echo "went back" >>"$here/done"; cd "$here"; . ./program; exit "$(cat code)"`),
			program("journalctl", `cat "$here/journal"`),
			program("sleep", `read -r now _ <"$here/uptime"; now=$((${now%.*} + 10)); echo "$now.00 0.00" >"$here/uptime"; cd "$here"; passed=$((now - 1000))
`+then)),
		fs.WithFile("code", "0"), fs.WithFile("program", ""), fs.WithFile("journal", ""), fs.WithFile("guard-starts", "0"), fs.WithFile("unit-starts", "0"),
		fs.WithDir("sw", fs.WithSymlink("bin", "../bin")),
	)
	return aMachine{t, dir}
}

// write writes a file on the machine.
func (m aMachine) write(name, text string) {
	m.t.Helper()
	assert.NilError(m.t, os.WriteFile(m.dir.Join(name), []byte(text), 0o600))
}

// read reads a file of the machine; one that is not there is empty.
func (m aMachine) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.dir.Join(name))
	if !os.IsNotExist(err) {
		assert.NilError(m.t, err)
	}
	return string(text)
}

// run runs a script on the machine.
func (m aMachine) run(script string, args ...string) error {
	m.t.Helper()
	_, err := m.output(script, args...)
	return err
}

// output is run, with what the script said.
func (m aMachine) output(script string, args ...string) (string, error) {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), "sh", append([]string{"-c", m.here(script), "sh"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+m.dir.Join("bin")+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	m.t.Logf("%s", out)
	return string(out), err
}

// exitCode is how a script ended.
func (m aMachine) exitCode(err error) int {
	m.t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	assert.NilError(m.t, err)
	return 0
}

// here is a script that finds all on the machine that it looks for.
func (m aMachine) here(script string) string {
	return strings.NewReplacer("/proc/uptime", m.dir.Join("uptime"), "/run/slipway", m.dir.Join("run"),
		"/var/lib/slipway", m.dir.Join("lib"), "/nix/var/nix/gcroots", m.dir.Join("gcroots"),
		"/run/nixos", m.dir.Join("lists"),
		"readlink -f /run/current-system", "readlink "+m.dir.Join("current-system")).Replace(script)
}

func TestGuardScript(t *testing.T) {
	const (
		confirms = `[ "$passed" != 200 ] || ln -s confirmed run/own/decision`
		noted    = "own/started"
	)
	for _, c := range []struct {
		name     string
		load     string
		sub      string
		noted    bool // that the switch was started
		then     string
		reverted bool
		why      string
	}{
		{name: "a switch that was never started", load: "not-found", sub: "dead"},
		{name: "a switch that is confirmed", load: "loaded", sub: "exited", noted: true, then: `echo "$((passed + 1000))" >run/own/sign; ` + confirms},
		{name: "a switch that nobody confirms", load: "loaded", sub: "exited", noted: true, reverted: true, why: "nobody showed"},
		{name: "a switch that ended before anybody noted its start", load: "loaded", sub: "exited", reverted: true, why: "nobody showed"},
		{name: "a switch that failed before anybody noted its start", load: "loaded", sub: "failed", reverted: true, why: "nobody showed"},
		{name: "a switch that a later run collected and left", load: "not-found", sub: "dead", noted: true, reverted: true, why: "nobody showed"},
		{name: "a switch that ended while its manager was replaced", reverted: true, why: "the switch did not end"},
		{
			name: "a switch that is to be given up", load: "loaded", sub: "exited", noted: true,
			then: `[ "$passed" != 20 ] || { echo unhealthy >run/own/why; ln -s reverted run/own/decision; }`, reverted: true, why: "why=unhealthy\n",
		},
		{name: "a switch whose folder is taken away", load: "loaded", sub: "exited", noted: true, then: `rm -rf run/own`, reverted: true, why: "could not be noted"},
		{name: "a switch whose decision nobody can note", load: "loaded", sub: "exited", noted: true, then: `[ -e lib/full ] || { touch lib/full; printf '#!/bin/sh\nexit 1\n' >bin/ln; chmod 755 bin/ln; }`, reverted: true, why: "could not be noted"},
		{name: "a switch that hangs", load: "loaded", sub: "running", noted: true, reverted: true, why: "the switch did not end within 300 s\ncause=slow\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, c.then)
			m.write("unit/LoadState", c.load)
			m.write("unit/SubState", c.sub)
			m.write("run/own/switch", m.here(switchScript))
			if c.noted {
				m.write(filepath.Join("run", noted), "")
			}
			assert.NilError(t, m.run(guardScript, m.dir.Join("run", "own"), "the.service", newSystem, m.dir.Path(), "60", "300"))
			assert.Equal(t, strings.Contains(m.read("done"), "went back"), c.reverted)
			said := m.read("lib/reverted")
			assert.Equal(t, said != "", c.reverted)
			assert.Assert(t, strings.Contains(said, c.why), "%s", said)
		})
	}
}
