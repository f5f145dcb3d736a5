package qemu

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
)

// fakeQEMU answers at the socket in a new folder: command → answers, one line
// each. What it does not know it refuses, as QEMU does.
func fakeQEMU(t *testing.T, greeting string, answers map[string]string) (dir string) {
	t.Helper()
	// Longer than the address of a socket may be.
	dir = filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	assert.NilError(t, os.Mkdir(dir, 0o700))
	folder, err := os.Open(dir)
	assert.NilError(t, err)
	defer func() { _ = folder.Close() }()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), QMPSocket))
	assert.NilError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { _ = listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn, greeting, answers)
		}
	}()
	return dir
}

func serve(conn net.Conn, greeting string, answers map[string]string) {
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintln(conn, greeting)
	for scan := bufio.NewScanner(conn); scan.Scan(); {
		var request struct{ Execute string }
		if err := json.Unmarshal(scan.Bytes(), &request); err != nil {
			return
		}
		answer, ok := answers[request.Execute]
		if !ok {
			answer = fmt.Sprintf(`{"error":{"class":"CommandNotFound","desc":"The command %s has not been found"}}`, request.Execute)
		}
		_, _ = fmt.Fprintln(conn, answer)
	}
}

const greeting = `{"QMP":{"version":{},"capabilities":[]}}`

func TestMonitorTalksToAMachine(t *testing.T) {
	dir := fakeQEMU(t, greeting, map[string]string{
		"qmp_capabilities":      `{"return":{}}`,
		"query-status":          `{"event":"RESUME","timestamp":{}}` + "\n" + `{"return":{"status":"running"}}`,
		"query-uuid":            `{"return":{"UUID":"1-2"}}`,
		"human-monitor-command": `{"return":"TCP[HOST_FORWARD] 1 127.0.0.1 4000 10.0.2.15 22 0 0\r\n"}`,
	})
	m, err := DialMonitor(t.Context(), dir)
	assert.NilError(t, err)
	defer m.Close()
	status, err := m.Status(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, status, "running")
	id, err := m.UUID(t.Context())
	assert.NilError(t, err)
	assert.Equal(t, id, "1-2")
	ports, err := m.Ports(t.Context())
	assert.NilError(t, err)
	assert.DeepEqual(t, ports, map[int]int{22: 4000})

	err = m.Do(t.Context(), "cont", nil, nil)
	var refused *Error
	assert.Assert(t, errors.As(err, &refused))
	assert.Equal(t, refused.Class, "CommandNotFound")
	assert.Error(t, err, "cont: The command cont has not been found")
}

func TestMonitorOfNobody(t *testing.T) {
	dir := t.TempDir()
	_, err := DialMonitor(t.Context(), dir)
	assert.Assert(t, Gone(err))
	assert.ErrorIs(t, err, os.ErrNotExist)

	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, QMPSocket)})
	assert.NilError(t, err)
	listener.SetUnlinkOnClose(false)
	assert.NilError(t, listener.Close())
	_, err = DialMonitor(t.Context(), dir)
	assert.Assert(t, Gone(err))
	assert.ErrorContains(t, err, "connection refused")
	assert.NilError(t, Kill(t.Context(), dir))
}

func TestMonitorOfSomethingElse(t *testing.T) {
	dir := fakeQEMU(t, `{"hello":1}`, nil)
	_, err := DialMonitor(t.Context(), dir)
	assert.ErrorContains(t, err, "greet QEMU")
}

func TestMonitorGivesUpWithItsContext(t *testing.T) {
	dir := fakeQEMU(t, greeting, map[string]string{"qmp_capabilities": `{"return":{}}`, "stop": `{"event":"STOP"}`})
	m, err := DialMonitor(t.Context(), dir)
	assert.NilError(t, err)
	defer m.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err = m.Do(ctx, "stop", nil, nil)
	assert.ErrorContains(t, err, "stop: ")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestKillSparesWhatIsNotQEMU(t *testing.T) {
	dir := fakeQEMU(t, greeting, nil) // which lives in this very process
	err := Kill(t.Context(), dir)
	assert.ErrorContains(t, err, fmt.Sprintf("kill machine: process %d is ", os.Getpid()))
}
