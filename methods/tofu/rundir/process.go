package rundir

import (
	"bytes"
	"fmt"
	"os"
	"strings"
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
