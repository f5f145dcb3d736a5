package child

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// family remembers the descendants of a child that was asked to stop. Those in a
// session of their own are out of reach for a signal to the child's group, and a
// child that is stopped while it starts one may leave it behind: Nix does so
// with a builder that is not yet the user it is to be.
type family struct {
	mu      sync.Mutex
	members map[int]string // process to the time of its start
}

// note adds who descends from a process now.
func (f *family) note(process int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members == nil {
		f.members = map[int]string{}
	}
	known := processes()
	below := map[int]bool{process: true}
	for found := true; found; {
		found = false
		for pid, p := range known {
			if below[p.parent] && !below[pid] {
				below[pid], found = true, true
				f.members[pid] = p.started
			}
		}
	}
}

// end kills who is left of them. A number that another process has by now is
// let alone.
func (f *family) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.members) == 0 {
		return
	}
	now := processes()
	for pid, started := range f.members {
		if p, ok := now[pid]; ok && p.started == started {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// running are the children of this process, by their number, which is that of
// their group too.
var running struct {
	sync.Mutex
	families map[int]*family
}

func remember(group int, f *family) (forget func()) {
	running.Lock()
	defer running.Unlock()
	if running.families == nil {
		running.families = map[int]*family{}
	}
	running.families[group] = f
	return func() {
		running.Lock()
		defer running.Unlock()
		delete(running.families, group)
	}
}

// KillAll kills every child that runs, with all that descends from it, for a
// process that ends at once. Nobody is asked.
func KillAll() {
	running.Lock()
	defer running.Unlock()
	for group, f := range running.families {
		f.note(group)
		_ = syscall.Kill(-group, syscall.SIGKILL)
		f.end()
	}
}

// process is what /proc says of one that lives (proc(5), /proc/pid/stat).
type process struct {
	parent  int
	started string // in clock ticks since the host booted
}

func processes() map[int]process {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	all := map[int]process{}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended meanwhile
		}
		// The name, in parentheses, may hold anything. After it come the state, the
		// parent, and as the 20th the time of the start.
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 20 {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err == nil {
			all[pid] = process{parent, string(fields[19])}
		}
	}
	return all
}
