package report

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
)

// worstFirst is the order of the contract, with an interruption before it all.
var worstFirst = []Code{Terminated, Interrupted, Failed, Unhealthy, Unknown, Refused, Busy, RebootNeeded, Healthy}

func TestWorstOfTwo(t *testing.T) {
	for i, worse := range worstFirst {
		for _, better := range worstFirst[i:] {
			t.Run(fmt.Sprintf("%s before %s", worse, better), func(t *testing.T) {
				assert.Equal(t, Worst(worse, better), worse)
				assert.Equal(t, Worst(better, worse), worse)
			})
		}
	}
}

func TestWorstOfMany(t *testing.T) {
	for _, c := range []struct {
		name  string
		codes []Code
		want  Code
	}{
		{"none", nil, Healthy},
		{"all healthy", []Code{0, 0, 0}, Healthy},
		{"one among many", []Code{0, 0, 6, 0}, RebootNeeded},
		{"all there is", []Code{0, 6, 75, 4, 5, 3, 1}, Failed},
		{"all but failed", []Code{0, 6, 75, 4, 5, 3}, Unhealthy},
		{"a code that nobody declared counts as failed", []Code{0, 3, 42}, 42},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, Worst(c.codes...), c.want)
			for range 10 {
				rand.Shuffle(len(c.codes), func(i, j int) { c.codes[i], c.codes[j] = c.codes[j], c.codes[i] })
				assert.Equal(t, Worst(c.codes...), c.want, "in the order %v", c.codes)
			}
		})
	}
}

func TestCodeOf(t *testing.T) {
	plain := errors.New("no way there")
	interrupted := &Interruption{Signal: os.Interrupt}
	terminated := &Interruption{Signal: syscall.SIGTERM}
	for _, c := range []struct {
		name string
		err  error
		want Code
	}{
		{"no error", nil, Healthy},
		{"a plain error", plain, Failed},
		{"a failure", Fail("copy", plain, ""), Failed},
		{"a refusal", Refuse("copy", plain, ""), Refused},
		{"a fault with a code of its own", &Fault{Code: Busy, What: "lock"}, Busy},
		{"a wrapped fault", fmt.Errorf("operator-ssh-web: %w", Refuse("copy", plain, "")), Refused},
		{"the outermost of two faults", &Fault{Code: Unknown, What: "follow", Why: Refuse("copy", plain, "")}, Unknown},
		{"the first of joined faults", errors.Join(plain, &Fault{Code: Unhealthy}, Refuse("copy", plain, "")), Unhealthy},
		{"an exit before the faults in it", &Exit{Code: Unhealthy, Err: Fail("copy", plain, "")}, Unhealthy},
		{"SIGINT", interrupted, Interrupted},
		{"SIGTERM", terminated, Terminated},
		{"an interruption within a fault", Refuse("copy", fmt.Errorf("stopped: %w", terminated), ""), Terminated},
		{"an interruption within an exit", &Exit{Code: Failed, Err: interrupted}, Interrupted},
		{"a context that was cancelled", fmt.Errorf("dial: %w", context.Canceled), Interrupted},
		{"a deadline", fmt.Errorf("dial: %w", context.DeadlineExceeded), Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, CodeOf(c.err), c.want)
		})
	}
}

func TestWrapSaysItsOwnExitStatus(t *testing.T) {
	assert.NilError(t, Wrap(nil))
	inner := Refuse("copy the closure", errors.New("disk full"), "")
	err := Wrap(inner)
	// Mage asks the outermost error and no other.
	status, ok := err.(interface{ ExitStatus() int })
	assert.Assert(t, ok)
	assert.Equal(t, status.ExitStatus(), 4)
	assert.ErrorIs(t, err, inner)
	assert.Error(t, err, "copy the closure: disk full")
}

func TestCodeInWords(t *testing.T) {
	for code, want := range map[Code]string{
		Healthy: "healthy", Failed: "failed", Usage: "not started", Unhealthy: "unhealthy", Refused: "refused",
		Unknown: "unknown", RebootNeeded: "reboot needed", Busy: "busy", Interrupted: "interrupted",
		Terminated: "terminated", 42: "exit 42",
	} {
		assert.Equal(t, code.String(), want)
	}
}

func TestCodesAreThoseOfTheContract(t *testing.T) {
	for code, want := range map[Code]int{
		Healthy: 0, Failed: 1, Usage: 2, Unhealthy: 3, Refused: 4, Unknown: 5, RebootNeeded: 6, Busy: 75,
		Interrupted: 128 + int(syscall.SIGINT), Terminated: 128 + int(syscall.SIGTERM),
	} {
		assert.Equal(t, int(code), want)
	}
}
