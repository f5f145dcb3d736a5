package rundir

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/child"
)

func TestProcessIsNotTakenForAnother(t *testing.T) {
	me, err := Process(os.Getpid())
	assert.NilError(t, err)
	assert.Assert(t, Lives(me))
	assert.Assert(t, !Lives("1 0 another-boot"))
	assert.Assert(t, !Lives("rubbish"))
	var gone string
	assert.NilError(t, child.Command{Path: "/bin/true", Started: func(pid int) { gone, _ = Process(pid) }}.Run(t.Context()))
	assert.Assert(t, !Lives(gone))
	file := filepath.Join(t.TempDir(), "pid")
	assert.NilError(t, Gone(file), "none is written down")
	assert.NilError(t, os.WriteFile(file, []byte(me), 0o600))
	assert.ErrorContains(t, Gone(file), "is still there")
}

// group is a process that leads one, with another in it. Each gives back the lines
// that it is told.
type group struct {
	leader            *exec.Cmd
	name              string
	toLeader, toOther *os.File
	said              *bufio.Reader
}

func newGroup(t *testing.T) *group {
	t.Helper()
	pipe := func() (from, to *os.File) {
		from, to, err := os.Pipe()
		assert.NilError(t, err)
		t.Cleanup(func() { _, _ = from.Close(), to.Close() })
		return from, to
	}
	said, output := pipe()
	first, toLeader := pipe()
	second, toOther := pipe()
	g := &group{leader: exec.Command("/bin/sh", "-c", "cat <&3 & echo ready; exec cat"), toLeader: toLeader, toOther: toOther, said: bufio.NewReader(said)}
	g.leader.Stdin, g.leader.Stdout, g.leader.ExtraFiles = first, output, []*os.File{second}
	g.leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	assert.NilError(t, g.leader.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-g.leader.Process.Pid, syscall.SIGKILL)
		_ = g.leader.Wait()
	})
	for _, end := range []*os.File{output, first, second} {
		assert.NilError(t, end.Close())
	}
	line, err := g.said.ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, line, "ready\n")
	g.name, err = Process(g.leader.Process.Pid)
	assert.NilError(t, err)
	return g
}

// lives tells whether the member that reads there does.
func (g *group) lives(t *testing.T, to *os.File) bool {
	t.Helper()
	_, told := to.WriteString("are you there?\n")
	line, err := g.said.ReadString('\n')
	assert.Assert(t, err == nil && told == nil || errors.Is(err, io.EOF), "%v, %v", told, err)
	return line != ""
}

func TestWhatAKilledProcessLeftIsEnded(t *testing.T) {
	t.Run("and nobody asked how it ended", func(t *testing.T) {
		g := newGroup(t)
		assert.NilError(t, g.leader.Process.Kill())
		poll.WaitOn(t, func(poll.LogT) poll.Result {
			if Lives(g.name) {
				return poll.Continue("it is being killed")
			}
			return poll.Success()
		})
		End(g.name)
		assert.Assert(t, !g.lives(t, g.toOther))
	})
	t.Run("and its parent asked", func(t *testing.T) {
		g := newGroup(t)
		assert.NilError(t, g.leader.Process.Kill())
		_ = g.leader.Wait()
		End(g.name)
		assert.Assert(t, !g.lives(t, g.toOther))
	})
}

// TestANumberThatAnotherHasByNow must not have the group of another end.
func TestANumberThatAnotherHasByNow(t *testing.T) {
	g := newGroup(t)
	words := strings.Fields(g.name)
	const number, start, boot, numbering = 0, 1, 2, 3
	for _, c := range []struct {
		name  string
		which int
		was   string
	}{
		{"of another start", start, "7"},
		{"of another boot", boot, "another-boot"},
		{"numbered elsewhere", numbering, "4026531836000"},
		{"of a group", number, "-" + words[number]},
	} {
		t.Run(c.name, func(t *testing.T) {
			named := slices.Clone(words)
			named[c.which] = c.was
			file := filepath.Join(t.TempDir(), "tofu.pid")
			assert.NilError(t, os.WriteFile(file, []byte(strings.Join(named, " ")), 0o600))
			assert.NilError(t, Gone(file))
			assert.Assert(t, g.lives(t, g.toLeader))
			assert.Assert(t, g.lives(t, g.toOther))
		})
	}
}
