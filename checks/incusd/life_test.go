//go:build checks

package incusd

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/disposition"
	"fediversity.eu/slipway/targets/env"
)

// helperDir makes the test binary be a program that starts a daemon in that folder.
const helperDir = "CHECKS_INCUSD_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		d, err := boot(context.Background(), dir)
		fmt.Println(err, d != nil)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until it is killed
		os.Exit(1)
	}
	disposition.Default()
	os.Exit(m.Run())
}

func boot(ctx context.Context, dir string) (*Daemon, error) {
	cache, err := env.Process().CacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return Boot(ctx, Options{Dir: dir, Cache: cache, Log: os.Stderr, Admin: certificate})
}

// left are the processes that work in a folder, and its daemon's control groups.
func left(dir string) []string {
	var all []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, dir) {
			all = append(all, link)
		}
	}
	return all
}

func groupsOf(pid int) []string {
	root, _ := hierarchy() // without one nothing was started
	found, _ := filepath.Glob(filepath.Join(root, fmt.Sprintf("slipway-incus-%d-*", pid)))
	return found
}

func TestGuestIncusDiesWithItsCaller(t *testing.T) {
	if missing := Missing(); missing != "" {
		t.Skip("missing part: " + missing)
	}
	dir := filepath.Join(t.TempDir(), "incus")
	helper := exec.CommandContext(t.Context(), os.Args[0])
	helper.Env = append(os.Environ(), helperDir+"="+dir)
	helper.Stderr = os.Stderr
	input, err := helper.StdinPipe()
	assert.NilError(t, err)
	defer func() { _ = input.Close() }()
	out, err := helper.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, helper.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.NilError(t, err)
	assert.Equal(t, line, "<nil> true\n")
	assert.Assert(t, len(left(dir)) > 0)
	assert.Equal(t, len(groupsOf(helper.Process.Pid)), 1)

	assert.NilError(t, helper.Process.Kill()) // SIGKILL: nothing of ours runs any more
	assert.Assert(t, errors.As(helper.Wait(), new(*exec.ExitError)))
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if all := append(left(dir), groupsOf(helper.Process.Pid)...); len(all) > 0 {
			return poll.Continue("left: %v", all)
		}
		return poll.Success()
	}, poll.WithTimeout(3*time.Minute), poll.WithDelay(50*time.Millisecond))
	mounts, err := os.ReadFile("/proc/mounts")
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(string(mounts), dir))
}
