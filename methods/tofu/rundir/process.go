package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"fediversity.eu/slipway/methods/tofu/lock"
)

// Process names a process for Lives: its number, when it started, in which boot,
// and by which numbering, so that no other can be taken for it.
func Process(pid int) (string, error) {
	start, zombie, err := stat(pid)
	if err != nil {
		return "", err
	}
	if zombie {
		return "", os.ErrProcessDone
	}
	return name(pid, start)
}

func name(pid int, start string) (string, error) {
	here, err := lock.Here()
	return fmt.Sprintf("%d %s %s %s", pid, start, here.Boot, here.Namespace), err
}

// Lives tells whether the process of that name is still there.
func Lives(name string) bool {
	var pid int
	if _, err := fmt.Sscan(name, &pid); err != nil {
		return false
	}
	now, err := Process(pid)
	return err == nil && now == name
}

// End ends what a process that is gone left in its group: children of a tofu that
// was killed go on making, and nobody hears of it. A process that lives is left
// alone, and so is everything after a boot. When the number is another process's by
// now, nothing is left: the kernel gives no number anew that a group still has.
func End(gone string) {
	var pid int
	var noted string
	if _, err := fmt.Sscan(gone, &pid, &noted); err != nil || pid <= 1 {
		return
	}
	if now, err := name(pid, noted); err != nil || now != gone {
		return // of another boot, or numbered elsewhere
	}
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || unburied(pid, noted) {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// unburied tells whether a process that has ended still has its number, since its
// parent has not asked how it ended.
func unburied(pid int, noted string) bool {
	start, zombie, err := stat(pid)
	return err == nil && zombie && start == noted
}

// stat reads when a process started, in clock ticks since the boot, and whether it
// has ended, from fields 22 and 3 of its stat (proc(5)).
func stat(pid int) (start string, zombie bool, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false, err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 {
		return "", false, os.ErrProcessDone
	}
	return fields[19], fields[0] == "Z" || fields[0] == "X", nil
}
