package remote

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
)

// BenchmarkDialAndRun is the whole way from nothing to the end of "true".
// BenchmarkOpenSSH is the same by the ssh program.
func BenchmarkDialAndRun(b *testing.B) {
	s := startSSHD(b, "127.0.0.1")
	for b.Loop() {
		c, err := Dial(b.Context(), s.target("root"))
		assert.NilError(b, err)
		_, err = c.Output(b.Context(), "true")
		assert.NilError(b, err)
		assert.NilError(b, c.Close())
	}
}

func BenchmarkOpenSSH(b *testing.B) {
	s := startSSHD(b, "127.0.0.1")
	args := openSSH(b, s)
	for b.Loop() {
		assert.NilError(b, exec.CommandContext(b.Context(), "ssh", append(args, "true")...).Run())
	}
}

// BenchmarkRun is one more command over a connection that exists.
func BenchmarkRun(b *testing.B) {
	c := startSSHD(b, "127.0.0.1").dial(b, "root")
	for b.Loop() {
		_, err := c.Output(b.Context(), "true")
		assert.NilError(b, err)
	}
}

const streamSize = 200 << 20

func BenchmarkStreamIn(b *testing.B) {
	c := startSSHD(b, "127.0.0.1").dial(b, "root")
	b.SetBytes(streamSize)
	b.ReportAllocs()
	for b.Loop() {
		var out bytes.Buffer
		err := c.Run(b.Context(), Command{Script: "wc -c", Stdin: io.LimitReader(endless{}, streamSize), Stdout: &out})
		assert.NilError(b, err)
		assert.Equal(b, strings.TrimSpace(out.String()), fmt.Sprint(streamSize))
	}
}

func BenchmarkStreamOut(b *testing.B) {
	c := startSSHD(b, "127.0.0.1").dial(b, "root")
	b.SetBytes(streamSize)
	b.ReportAllocs()
	for b.Loop() {
		assert.NilError(b, c.Run(b.Context(), Command{Script: `head -c "$1" /dev/zero`, Args: []string{fmt.Sprint(streamSize)}, Stdout: io.Discard}))
	}
}

func BenchmarkOpenSSHStreamIn(b *testing.B) {
	s := startSSHD(b, "127.0.0.1")
	args := openSSH(b, s)
	b.SetBytes(streamSize)
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), "ssh", append(args, "wc -c")...)
		cmd.Stdin = io.LimitReader(endless{}, streamSize)
		assert.NilError(b, cmd.Run())
	}
}

// openSSH are the arguments with which the ssh program reaches a server.
func openSSH(b *testing.B, s *sshd) []string {
	b.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		b.Skip("missing part: openssh-client")
	}
	dir := b.TempDir()
	block, err := ssh.MarshalPrivateKey(s.raw, "")
	assert.NilError(b, err)
	key, known := filepath.Join(dir, "key"), filepath.Join(dir, "known")
	assert.NilError(b, os.WriteFile(key, pem.EncodeToMemory(block), 0o600))
	line := fmt.Sprintf("[%s]:%d %s", s.host, s.port, ssh.MarshalAuthorizedKey(s.key))
	assert.NilError(b, os.WriteFile(known, []byte(line), 0o600))
	return []string{
		"-F", "none", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + known, "-o", "BatchMode=yes",
		"-p", fmt.Sprint(s.port), "root@" + s.host,
	}
}
