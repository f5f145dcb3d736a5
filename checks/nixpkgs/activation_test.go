package nixpkgs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/checks/nixpkgs"
	"fediversity.eu/slipway/internal/child"
)

// activate runs a script of the activation over a scratch machine.
func activate(t *testing.T, script string, env ...string) {
	t.Helper()
	needBusybox(t)
	assert.NilError(t, child.Command{
		Path: nixpkgs.DefaultBusybox, Env: append(env, "PATH=/usr/bin:/bin"),
		Args: []string{"sh", "-euc", ". ./tree/nixos/modules/config/" + script}, Dir: workingDir(t),
	}.Run(t.Context()))
}

func workingDir(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	assert.NilError(t, err)
	return dir
}

func TestEtcFollowsTheSystem(t *testing.T) {
	host := fs.NewDir(t, "machine",
		fs.WithDir("etc",
			fs.WithFile("hosts", "the machine's\n"),
			fs.WithFile("fstab", "the machine's\n"),
			fs.WithDir("ssh", fs.WithFile("sshd_config", "the machine's\n")),
			fs.WithDir("systemd", fs.WithDir("system", fs.WithFile("foreign.service", "the machine's\n")))),
		fs.WithDir("units-one", fs.WithFile("ours.service", "one\n"), fs.WithFile("foreign.service", "one\n")),
		fs.WithDir("units-two", fs.WithFile("other.service", "two\n")),
		fs.WithDir("one", fs.WithDir("etc",
			fs.WithFile("hosts", "ours\n"), fs.WithFile("fstab", "ours\n"), fs.WithFile("motd", "ours\n"),
			fs.WithFile("copied", "ours\n"), fs.WithFile("copied.mode", "0600\n"), fs.WithFile("copied.owner", fmt.Sprintf("%d:%d\n", os.Getuid(), os.Getgid())),
			fs.WithDir("ssh", fs.WithFile("sshd_config", "ours\n"), fs.WithDir("authorized_keys.d", fs.WithFile("root", "key\n"))),
			fs.WithDir("systemd", fs.WithSymlink("system", "../../../units-one")))),
		fs.WithDir("two", fs.WithDir("etc",
			fs.WithFile("hosts", "ours\n"),
			fs.WithDir("systemd", fs.WithSymlink("system", "../../../units-two")))))
	run := func(system string) {
		activate(t, "etc-setup.sh", "systemConfig="+host.Join(system), "ETC_ROOT="+host.Join("etc"), "STATE_ROOT="+host.Join("state"))
	}

	run("one")
	linked(t, host, "hosts", "motd", "ssh/authorized_keys.d/root", "systemd/system/ours.service")
	kept(t, host, "fstab", "ssh/sshd_config", "systemd/system/foreign.service")
	info, err := os.Lstat(host.Join("etc", "copied"))
	assert.NilError(t, err)
	assert.Equal(t, info.Mode(), os.FileMode(0o600))

	run("one") // once more changes nothing
	linked(t, host, "hosts", "motd", "systemd/system/ours.service")
	kept(t, host, "fstab", "ssh/sshd_config", "systemd/system/foreign.service")

	run("two")
	linked(t, host, "hosts", "systemd/system/other.service")
	kept(t, host, "fstab", "ssh/sshd_config", "systemd/system/foreign.service")
	for _, name := range []string{"motd", "copied", "ssh/authorized_keys.d", "systemd/system/ours.service"} {
		_, err := os.Lstat(host.Join("etc", name))
		assert.Assert(t, os.IsNotExist(err), "%s is left", name)
	}
}

func TestMissingAccountsAreAdded(t *testing.T) {
	host := fs.NewDir(t, "machine",
		fs.WithFile("passwd", "root:x:0:0::/root:/bin/bash\nold:x:999:999::/:/bin/false\n"),
		fs.WithFile("group", "root:x:0:\nold:x:999:\n"),
		fs.WithFile("shadow", "root:*:1::::::\n"),
		fs.WithFile("groups", "root:0\nnginx:-\n"),
		fs.WithFile("users", "root:0:root:/root:/bin/sh:false\nnginx:-:nginx:/var/empty:/usr/sbin/nologin:false\nann:+:root:/home/ann:/bin/sh:false\n"))
	for range 2 { // the second time finds all there
		activate(t, "users-setup.sh", "ETC_ROOT="+host.Path(), "declaredGroups="+host.Join("groups"), "declaredUsers="+host.Join("users"))
		text, err := os.ReadFile(host.Join("passwd"))
		assert.NilError(t, err)
		assert.Equal(t, string(text), "root:x:0:0::/root:/bin/bash\nold:x:999:999::/:/bin/false\nnginx:x:998:998::/var/empty:/usr/sbin/nologin\nann:x:1000:0::/home/ann:/bin/sh\n")
		text, err = os.ReadFile(host.Join("shadow"))
		assert.NilError(t, err)
		assert.Equal(t, strings.Count(string(text), "\n"), 3)
	}
}

func linked(t *testing.T, host *fs.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		target, err := os.Readlink(host.Join("etc", name))
		assert.NilError(t, err)
		assert.Equal(t, target, "/etc/static/"+name)
	}
}

func kept(t *testing.T, host *fs.Dir, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(host.Join("etc", name))
		assert.NilError(t, err)
		assert.Equal(t, string(text), "the machine's\n")
	}
}
