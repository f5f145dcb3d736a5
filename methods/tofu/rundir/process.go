package rundir

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Process names a process for Lives: its number, when it started, and in which
// boot, so that no other can be taken for it.
func Process(pid int) (string, error) {
	start, err := start(pid)
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s %s", pid, start, bytes.TrimSpace(boot)), nil
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
// alone, and so is everything after a boot.
func End(name string) {
	var pid int
	var start, boot string
	if _, err := fmt.Sscan(name, &pid, &start, &boot); err != nil || Lives(name) {
		return
	}
	now, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil && boot == string(bytes.TrimSpace(now)) && pid > 1 {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func start(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return fields[19], nil
}
