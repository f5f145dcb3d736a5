package guest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/guest/debian"
)

func TestOptionsAreCompletedOrRefused(t *testing.T) {
	good := Options{Kind: VM, Name: "web", Dir: "/d", Cache: "/c"}
	o, err := good.complete()
	assert.NilError(t, err)
	assert.Equal(t, o.MemoryMiB, 1024)
	assert.Equal(t, o.DiskMiB, 4096)
	assert.Equal(t, o.Suite, debian.Trixie)

	_, err = Options{Kind: VM, Name: "web", Dir: "/d", Cache: "/c", Suite: debian.Bookworm}.complete()
	assert.Error(t, err, "guest options: suite bookworm has no kernel: only a container is made of it")

	_, err = Options{Kind: VM, Name: "web", Dir: "/d", Cache: "/c", Nested: "/tree"}.complete()
	assert.Error(t, err, "guest options: only a container of trixie has containers of its own")

	_, err = Options{Kind: "pod", Name: "Web!", Forward: []int{22}, Suite: "potato", Accel: "xen", MemoryMiB: 1, DiskMiB: 1}.complete()
	assert.Error(t, err, `guest options: kind "pod" is neither vm nor container
name "Web!" is no host name
suite "potato" is none of trixie, bookworm
dir is not set
cache is not set
forward of port 22
accel "xen" is neither kvm nor tcg
memory of 1 MiB is too little
disk of 1 MiB is too small`)
}

func TestIdentityIsPackedForAMachine(t *testing.T) {
	id, err := newIdentity("web")
	assert.NilError(t, err)
	message, err := id.message(time.Unix(1700000000, 5e6))
	assert.NilError(t, err)
	now, packed, _ := strings.Cut(string(message), " ")
	assert.Equal(t, now, "1700000000.005")
	assert.Equal(t, strings.Count(string(message), "\n"), 1) // it is one line, for a script that reads one

	files, modes := unpack(t, packed)
	assert.Equal(t, files["etc/hostname"], "web\n")
	assert.Equal(t, files["root/.ssh/authorized_keys"], id.userID+"\n")
	assert.Equal(t, modes["etc/ssh/ssh_host_ed25519_key"], int64(0o600))
	signer, err := ssh.ParsePrivateKey([]byte(files["etc/ssh/ssh_host_ed25519_key"]))
	assert.NilError(t, err)
	assert.Equal(t, string(ssh.MarshalAuthorizedKey(signer.PublicKey())), id.hostID+"\n")
	assert.Assert(t, !strings.Contains(string(message), id.userKey)) // which the guest must not have
}

func unpack(t *testing.T, packed string) (files map[string]string, modes map[string]int64) {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(packed))
	assert.NilError(t, err)
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	assert.NilError(t, err)
	files, modes = map[string]string{}, map[string]int64{}
	for archive := tar.NewReader(unzip); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, modes
		}
		assert.NilError(t, err)
		text, err := io.ReadAll(archive)
		assert.NilError(t, err)
		files[header.Name], modes[header.Name] = string(text), header.Mode
	}
}

func TestHierarchiesForSystemdAreFound(t *testing.T) {
	for _, c := range []struct {
		name, mounts string
		want         []string
	}{
		{"version 2 alone", "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n", []string{"/sys/fs/cgroup"}},
		{
			"both versions", "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n" +
				"cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
			[]string{"/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"},
		},
		{"none", "proc /proc proc rw 0 0\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, cgroupMounts(c.mounts), c.want) })
	}
}

func TestUnreachableIsNotRefused(t *testing.T) {
	timeout := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	for _, err := range []error{unix.ENETUNREACH, unix.EHOSTUNREACH, timeout} {
		assert.Assert(t, unreachable(err), "%v", err)
	}
	assert.Assert(t, !unreachable(&net.OpError{Op: "dial", Err: unix.ECONNREFUSED}))
}

func TestCacheKeepsWhatIsUsedAndWhole(t *testing.T) {
	c := cache{dir: t.TempDir(), suite: debian.Trixie, log: io.Discard}
	const running, recent, old = "0123456789abcdef", "1123456789abcdef", "2123456789abcdef"
	longAgo := time.Now().Add(-2 * pruneAge)
	for _, name := range []string{running, recent, old, debian.Trixie.Hash(), debian.Bookworm.Hash(), ".new-x", "something"} {
		assert.NilError(t, os.Mkdir(filepath.Join(c.dir, name), 0o700))
		mark := filepath.Join(c.dir, name, "in-use")
		assert.NilError(t, os.WriteFile(mark, nil, 0o600))
		if name != recent {
			assert.NilError(t, os.Chtimes(mark, longAgo, longAgo))
		}
	}
	used, err := os.Open(filepath.Join(c.dir, running, "in-use"))
	assert.NilError(t, err)
	defer func() { _ = used.Close() }()
	assert.NilError(t, unix.Flock(int(used.Fd()), unix.LOCK_SH))
	assert.NilError(t, c.prune())
	left, err := filepath.Glob(filepath.Join(c.dir, "*"))
	assert.NilError(t, err)
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	assert.Assert(t, cmp.Len(left, 5))
	for _, name := range []string{running, recent, debian.Trixie.Hash(), debian.Bookworm.Hash(), "something"} {
		assert.Assert(t, cmp.Contains(left, name))
	}
	assert.Assert(t, !exists(filepath.Join(c.dir, ".new-x")))
}

func TestCacheIsPreparedByOneAtATime(t *testing.T) {
	c := cache{dir: t.TempDir(), suite: debian.Trixie, log: io.Discard}
	unlock, err := c.lock(t.Context())
	assert.NilError(t, err)
	name := filepath.Join(c.dir, "lock")
	_, err = lockFileWithin(t.Context(), name, 100*time.Millisecond, func() {})
	assert.ErrorContains(t, err, "for the lock "+c.dir)
	told := 0
	again, err := lockFileWithin(t.Context(), name, time.Minute, func() { told++; unlock() })
	assert.NilError(t, err)
	assert.Equal(t, told, 1)
	again()
	unlock, err = c.lock(t.Context())
	assert.NilError(t, err)
	unlock()
}

func TestBuildLeavesAllOrNothing(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	broken := errors.New("disk on fire")
	err := build(target, func(temporary string) error {
		assert.NilError(t, os.WriteFile(temporary, []byte("half"), 0o600))
		return broken
	})
	assert.ErrorIs(t, err, broken)
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 0)
	assert.NilError(t, build(target, func(temporary string) error { return os.WriteFile(temporary, nil, 0o600) }))
	assert.Assert(t, exists(target))
}

func TestRoomIsLookedFor(t *testing.T) {
	assert.NilError(t, room(t.TempDir(), 1))
	err := room(t.TempDir(), 1<<40)
	assert.ErrorContains(t, err, "1099511627776 MiB are needed: make room or choose another folder")
}

func TestFindTellsWhatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	_, err := Find(dir)
	assert.ErrorIs(t, err, ErrNoGuest)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, stateFile), []byte(`{"name":"web","complete":true}`), 0o600))
	_, err = Find(dir)
	assert.ErrorIs(t, err, ErrNotRunning)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, stateFile), []byte(`{"na`), 0o600))
	_, err = Find(dir)
	assert.ErrorContains(t, err, "find guest: read "+dir)
}

func TestFolderIsCleanedOfOurFilesOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "guest")
	assert.NilError(t, makeFolder(t.Context(), dir))
	for _, name := range []string{keyFile, diskFile, "theirs"} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	assert.NilError(t, makeFolder(t.Context(), dir))
	left, err := os.ReadDir(dir)
	assert.NilError(t, err)
	assert.Equal(t, len(left), 1)
	assert.Equal(t, left[0].Name(), "theirs")
}

func TestStartIsForMachinesOnly(t *testing.T) {
	_, err := Start(t.Context(), Options{Kind: Container, Name: "web", Dir: t.TempDir(), Cache: t.TempDir()})
	assert.Error(t, err, "start web: only a vm outlives its caller")
}

func TestShellWordsAreQuoted(t *testing.T) {
	assert.Equal(t, shellQuote("/a b/it's"), `'/a b/it'\''s'`)
}

func TestNeedTellsWhatToInstall(t *testing.T) {
	assert.Equal(t, Need{"qemu-img", "qemu-utils", "makes disks"}.String(), "qemu-img (makes disks): install qemu-utils")
	assert.Equal(t, Need{"root", "", "systemd-nspawn takes it"}.String(), "root (systemd-nspawn takes it)")
}
