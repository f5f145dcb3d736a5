package incus

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// pipes is a network of one server, within a bubble of time.
type pipes struct{ arrived chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if conn, open := <-p.arrived; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (pipes) Close() error   { return nil }
func (pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// slow is a client of a server that answers as a handler says, in a time of its own.
func slow(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	network := pipes{make(chan net.Conn)}
	server := &http.Server{Handler: h} //nolint:gosec // its client is this test
	go func() { _ = server.Serve(network) }()
	c := New(Remote{Address: "https://incus.example.org", Project: "default"})
	c.http.Transport.(*http.Transport).DialTLSContext = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		network.arrived <- theirs
		return ours, nil
	}
	t.Cleanup(func() {
		c.Close()
		close(network.arrived)
		_ = server.Close()
		time.Sleep(time.Hour) // of the bubble, in which what was still asked for is answered
	})
	return c
}

const (
	begun   = `{"type":"async","operation":"/1.0/operations/7"}`
	removed = `{"type":"sync","metadata":{"status_code":200,"metadata":{"fingerprint":"abc"}}}`
)

// TestAnOperationMayTakeLongerThanAnAnswer removes an image from a slow disk.
func TestAnOperationMayTakeLongerThanAnAnswer(t *testing.T) {
	for _, c := range []struct {
		name string
		took time.Duration
		says string
	}{
		{"longer than an answer", 4 * answerLimit, ""},
		{"longer than an operation", operationLimit + answerLimit, "the operation took too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := slow(t, func(w http.ResponseWriter, q *http.Request) {
					if q.Method == http.MethodDelete {
						w.WriteHeader(http.StatusAccepted)
						_, _ = io.WriteString(w, begun)
						return
					}
					time.Sleep(c.took)
					_, _ = io.WriteString(w, removed)
				})
				err := api.DeleteImage(t.Context(), "abc")
				if c.says == "" {
					assert.NilError(t, err)
				} else {
					assert.ErrorContains(t, err, c.says)
				}
			})
		})
	}
}

func TestAnAnswerIsNotWaitedForForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := slow(t, func(http.ResponseWriter, *http.Request) { time.Sleep(2 * answerLimit) })
		_, err := api.Alias(t.Context(), "operator/base")
		assert.ErrorContains(t, err, "the server took too long to answer")
	})
}

// TestAnUploadThatStands sends an image to servers that take it slowly, stop taking it,
// and have it and say nothing.
func TestAnUploadThatStands(t *testing.T) {
	dir := t.TempDir()
	f := Files{Metadata: filepath.Join(dir, "metadata.tar.xz"), Root: filepath.Join(dir, "nixos.qcow2"), VM: true}
	assert.NilError(t, os.WriteFile(f.Metadata, nil, 0o600))
	assert.NilError(t, os.WriteFile(f.Root, make([]byte, 1<<20), 0o600))
	for _, c := range []struct {
		name string
		take func(*http.Request)
		says string
	}{
		{"slow", func(q *http.Request) {
			for range 4 {
				time.Sleep(idleLimit - time.Second)
				_, _ = io.CopyN(io.Discard, q.Body, 1<<18)
			}
			_, _ = io.Copy(io.Discard, q.Body)
		}, ""},
		{"stops", func(*http.Request) { time.Sleep(3 * idleLimit) }, "the server took nothing more of the image for 5m0s"},
		{"says nothing", func(q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			time.Sleep(3 * idleLimit)
		}, "the server has all of the image and did not answer for 5m0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				api := slow(t, func(w http.ResponseWriter, q *http.Request) {
					if q.Method == http.MethodPost {
						c.take(q)
						w.WriteHeader(http.StatusAccepted)
						_, _ = io.WriteString(w, begun)
						return
					}
					time.Sleep(2 * idleLimit) // it packs the image out
					_, _ = io.WriteString(w, removed)
				})
				got, err := api.Upload(t.Context(), f, "abc", nil)
				if c.says == "" {
					assert.NilError(t, err)
					assert.Equal(t, got, "abc")
				} else {
					assert.ErrorContains(t, err, c.says)
				}
			})
		})
	}
}
