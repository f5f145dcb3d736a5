package remote

import (
	"bufio"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
)

const sshdPath = "/usr/sbin/sshd"

// sshd is a real server: OpenSSH's, on loopback, in a mount and process namespace
// of its own, with users that exist in there only. Nothing of it outlives it.
type sshd struct {
	host   string
	port   int
	signer ssh.Signer // lets every user in
	raw    any        // the same, for an agent
	key    ssh.PublicKey
	cmd    *exec.Cmd
	log    string
}

// users of a real server: name, uid and login shell.
const passwd = `root:x:0:0:root:/root:/bin/sh
sshd:*:105:65534::/run/sshd:/usr/sbin/nologin
nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
plain:*:4001:65534::/tmp:/bin/sh
sudoer:*:4002:65534::/tmp:/bin/bash
fishy:*:4003:65534::/tmp:/usr/bin/fish
cshy:*:4004:65534::/tmp:/bin/csh
bashy:*:4005:65534::/tmp:/bin/bash
closed:*:4006:65534::/tmp:/usr/sbin/nologin
falsy:*:4007:65534::/tmp:/bin/false
noisy:*:4008:65534::/tmp:%s
`

func startSSHD(t testing.TB, host string, options ...string) *sshd {
	t.Helper()
	return startSSHDWith(t, host, "", options...)
}

// startSSHDWith lays another shell over the system's sh, where one is named.
func startSSHDWith(t testing.TB, host, sh string, options ...string) *sshd {
	t.Helper()
	if _, err := os.Stat(sshdPath); err != nil {
		t.Skip("missing part: openssh-server")
	}
	if os.Geteuid() != 0 {
		t.Skip("missing part: root, for a server with users of its own")
	}
	dir, err := os.MkdirTemp("", "sshd-") //nolint:usetesting // t.TempDir is closed to the other users
	assert.NilError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	assert.NilError(t, os.Chmod(dir, 0o755))
	s := &sshd{host: host, log: filepath.Join(dir, "log")}
	var pemKey []byte
	s.key, pemKey = hostKey(t)
	var pemUser []byte
	s.signer, pemUser = userKey(t)
	s.raw, err = ssh.ParseRawPrivateKey(pemUser)
	assert.NilError(t, err)
	noisy := filepath.Join(dir, "noisy")
	write := func(name, text string, mode os.FileMode) {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("key", string(pemKey), 0o600)
	write("authorized", string(ssh.MarshalAuthorizedKey(s.signer.PublicKey())), 0o644)
	write("noisy", "#!/bin/sh\necho welcome, it is a fine day\nprintf 'no line end'\necho grumble >&2\nexec /bin/sh \"$@\"\n", 0o755)
	write("passwd", fmt.Sprintf(passwd, noisy), 0o644)
	write("sudoers", "root ALL=(ALL) ALL\nsudoer ALL=(root) NOPASSWD: ALL\nplain ALL=(root) ALL\n", 0o440)
	port := freePort(t, host)
	write("config", strings.Join(append([]string{
		"ListenAddress " + net.JoinHostPort(host, strconv.Itoa(port)), "HostKey " + dir + "/key", "PidFile none", "UsePAM no", "StrictModes no",
		"AuthorizedKeysFile " + dir + "/authorized", "PermitRootLogin prohibit-password", "LogLevel DEBUG1",
	}, options...), "\n")+"\n", 0o644)

	// The process namespace needs a /proc of its own; the users are laid over
	// those of the system, for this server alone.
	script := `mount --make-rprivate / && mount -t proc proc /proc && mkdir -p /run/sshd &&
mount --bind "$1/passwd" /etc/passwd && mount --bind "$1/sudoers" /etc/sudoers &&
{ [ -z "$2" ] || mount --bind "$2" /bin/sh; } &&
exec ` + sshdPath + ` -D -e -f "$1/config"`
	s.cmd = exec.Command("/bin/sh", "-c", script, "sh", dir, sh)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}
	stderr, err := s.cmd.StderrPipe()
	assert.NilError(t, err)
	assert.NilError(t, s.cmd.Start())
	log, err := os.Create(s.log)
	assert.NilError(t, err)
	listening := make(chan int, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(listening)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			_, _ = fmt.Fprintln(log, lines.Text())
			if _, after, ok := strings.Cut(lines.Text(), "Server listening on "+host+" port "); ok {
				var port int
				_, _ = fmt.Sscanf(after, "%d", &port)
				listening <- port
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it is process 1 in there, and takes all the others along
		<-read
		_ = s.cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(s.log)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			t.Log(strings.Join(lines[max(0, len(lines)-25):], "\n"))
		}
	})
	select {
	case port, ok := <-listening:
		if !ok {
			text, _ := os.ReadFile(s.log)
			if strings.Contains(string(text), "denied") || strings.Contains(string(text), "not permitted") {
				t.Skip("missing part: permission to mount, for a server with users of its own")
			}
			t.Fatalf("sshd did not start:\n%s", text)
		}
		s.port = port
	case <-time.After(20 * time.Second):
		t.Fatal("sshd does not listen after 20 s")
	}
	return s
}

// freePort is one that was free a moment ago: sshd does not take 0.
func freePort(t testing.TB, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Skipf("missing part: address %s on loopback: %v", host, err)
	}
	defer func() { assert.NilError(t, l.Close()) }()
	return l.Addr().(*net.TCPAddr).Port
}

// target is a way to log in as a user.
func (s *sshd) target(user string) Target {
	return Target{
		Host: s.host, Port: s.port, User: user, Keys: []ssh.Signer{s.signer},
		HostKeys: []string{string(ssh.MarshalAuthorizedKey(s.key))},
	}
}

func (s *sshd) hop(user string) Hop {
	t := s.target(user)
	return Hop{Host: t.Host, Port: t.Port, User: user, HostKeys: t.HostKeys}
}

func (s *sshd) dial(t testing.TB, user string) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), s.target(user))
	assert.NilError(t, err)
	t.Cleanup(func() { assert.NilError(t, c.Close()) })
	return c
}

func hostKey(t testing.TB) (ssh.PublicKey, []byte) {
	t.Helper()
	signer, text := userKey(t)
	return signer.PublicKey(), text
}

// userKey makes a key, and gives it as a signer and as the text of its file.
func userKey(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	assert.NilError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "test")
	assert.NilError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	assert.NilError(t, err)
	return signer, pem.EncodeToMemory(block)
}
