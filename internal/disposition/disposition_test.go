package disposition

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

const roleKey = "DISPOSITION_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleKey) == "" {
		os.Exit(m.Run())
	}
	Default()
	err := exec.Command("/bin/sh", "-c", "kill -"+os.Getenv(roleKey)+" $$").Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		os.Exit(int(exit.Sys().(syscall.WaitStatus).Signal()))
	}
	os.Exit(0) // it went on
}

func TestWhatWasIgnoredHasItsEffectInChildren(t *testing.T) {
	self, err := os.Executable()
	assert.NilError(t, err)
	for name, number := range map[string]syscall.Signal{
		"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "QUIT": syscall.SIGQUIT, "TERM": syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("/bin/sh", "-c", `trap "" HUP INT QUIT TERM; exec "$0"`, self)
			cmd.Env = []string{roleKey + "=" + name}
			_ = cmd.Run() // its exit code is asked for below
			assert.Equal(t, cmd.ProcessState.ExitCode(), int(number))
		})
	}
}
