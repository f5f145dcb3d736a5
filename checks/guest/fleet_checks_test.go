//go:build checks

package guest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// memoryOfOne bounds what the processes of one container take of the host's
// memory; 10 to 15 MiB are usual.
const memoryOfOne = 32 << 20

func TestGuestFleets(t *testing.T) {
	for _, size := range []int{5, 16} {
		t.Run(strconv.Itoa(size), func(t *testing.T) { fleet(t, size) })
	}
}

// fleet boots containers side by side, has all of them at once, and sees them
// go without a trace.
func fleet(t *testing.T, size int) {
	t.Helper()
	o := options(t, Container)
	assert.NilError(t, Prepare(t.Context(), o))
	guests := make([]*Guest, size)
	began := time.Now()
	each(size, func(i int) {
		own := o
		own.Name, own.Dir, own.Log = fmt.Sprintf("m%d", i), fmt.Sprint(o.Dir, i), nil
		var err error
		guests[i], err = Boot(t.Context(), own)
		assert.Check(t, err)
	})
	t.Logf("%d are up after %.1f s", size, time.Since(began).Seconds())
	// What is left of those that came up is ended, whatever happens below.
	t.Cleanup(func() {
		each(size, func(i int) {
			if guests[i] != nil {
				_ = guests[i].Close()
			}
		})
	})
	assert.Assert(t, !t.Failed())

	ports, keys := map[int]bool{}, map[string]bool{}
	for _, g := range guests {
		ports[g.access.Port], keys[g.access.HostKey] = true, true
	}
	assert.Equal(t, len(ports), size)
	assert.Equal(t, len(keys), size)
	each(size, func(i int) {
		out, err := guests[i].access.run(t.Context(), "hostname; systemctl is-system-running --wait")
		assert.Check(t, err)
		assert.Check(t, string(out) == guests[i].name+"\nrunning\n", "%s says %s", guests[i].name, out)
	})
	total, nets := 0, map[string]bool{}
	for _, g := range guests {
		for _, pid := range members(t, groups(g)) {
			total += proportional(pid)
			if net, err := os.Readlink("/proc/" + pid + "/ns/net"); err == nil && !nets[net] {
				nets[net] = true
				// While it is open, no other one gets its number.
				if file, err := os.Open("/proc/" + pid + "/ns/net"); err == nil {
					defer func() { _ = file.Close() }()
				}
			}
		}
	}
	assert.Equal(t, len(nets), 2*size, "a guest has one for itself and one for the end of its cable")
	assert.Assert(t, len(inNetworks(t, nets)) > size)
	t.Logf("%d take %d MiB, each %d", size, total>>20, total/size>>20)
	assert.Assert(t, total > 0 && total < size*memoryOfOne)

	began = time.Now()
	each(size, func(i int) { assert.Check(t, guests[i].Close()) })
	t.Logf("%d are gone after %.1f s", size, time.Since(began).Seconds())
	for i, g := range guests {
		assertNothingLeft(t, g.dir, groups(g))
		guests[i] = nil
	}
	assert.Equal(t, len(inNetworks(t, nets)), 0)
}

// each calls f for the numbers below n, side by side, and waits for all.
func each(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// members lists the processes of control groups.
func members(t *testing.T, groups []string) []string {
	t.Helper()
	var pids []string
	for _, group := range groups {
		assert.NilError(t, filepath.WalkDir(group, func(path string, entry os.DirEntry, err error) error {
			var list []byte
			if err == nil && entry.Name() == "cgroup.procs" {
				list, err = os.ReadFile(path)
			}
			pids = append(pids, strings.Fields(string(list))...)
			if path != group && gone(err) {
				return nil // with a unit that has ended meanwhile
			}
			return err
		}))
	}
	slices.Sort(pids)
	return slices.Compact(pids) // each hierarchy has all of them
}

// gone tells whether a control group went while it was looked at.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENODEV) }

// proportional is the memory of a process, in bytes, with each page divided among
// those that share it; of a process that ended meanwhile, none.
func proportional(pid string) int {
	rollup, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	for line := range bytes.Lines(rollup) {
		var kib int
		if n, _ := fmt.Sscanf(string(line), "Pss: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}

// inNetworks lists the processes that live in one of some network name spaces.
func inNetworks(t *testing.T, nets map[string]bool) []string {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	assert.NilError(t, err)
	var found []string
	for _, proc := range procs {
		if net, err := os.Readlink(filepath.Join(proc, "ns/net")); err == nil && nets[net] {
			found = append(found, proc)
		}
	}
	return found
}
