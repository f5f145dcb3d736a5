package inherent

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/env"
)

// listening accepts connections on loopback and lets answer have each.
func listening(t *testing.T, answer func(net.Conn)) netip.AddrPort {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				answer(conn)
			}()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String())
}

// closed is an address at which nobody listens.
func closed(t *testing.T) netip.AddrPort {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, listener.Close())
	return netip.MustParseAddrPort(listener.Addr().String())
}

func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.ReadFull(conn, make([]byte, 8))
		_, _ = io.WriteString(conn, text)
	}
}

func TestWhetherPostgreSQLIsThere(t *testing.T) {
	for _, c := range []struct {
		name  string
		at    netip.AddrPort
		fails string // empty is that it is there
	}{
		{"with TLS", listening(t, says("S")), ""},
		{"without", listening(t, says("N")), ""},
		{"one that refuses", listening(t, says("E")), ""},
		{"one that hangs up", listening(t, says("")), "EOF"},
		{"nobody", closed(t), "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Of(groups.Machine{Name: "web", Database: &groups.Database{Name: "web"}})
			s.database.Host, s.database.Port = env.Host(c.at.Addr().String()), env.Port(c.at.Port())
			err := s.reach(t.Context())
			if c.fails == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.fails)
			assert.ErrorContains(t, err, "PostgreSQL at "+c.at.String()+" (DATABASE_HOST, DATABASE_PORT): ")
		})
	}
}

func TestWhetherVaultIsThere(t *testing.T) {
	answers := func(status int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			assert.Check(t, r.URL.Path == "/v1/sys/health" && r.Header.Get("X-Vault-Token") == "", r.URL)
			w.WriteHeader(status)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	for _, c := range []struct{ name, address, fails string }{
		{"healthy", answers(http.StatusOK) + "/", ""},
		{"one without such a path", answers(http.StatusNotFound), ""},
		{"one whose certificate is not believed", untrusted.URL, ""},
		{"a proxy before nobody", answers(http.StatusServiceUnavailable), "what is before it answers 503"},
		{"nobody", "http://" + closed(t).String(), "connection refused"},
		{"another protocol", "http://" + listening(t, says("SSH-2.0-x\r\n")).String(), "malformed HTTP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Of(groups.Machine{Name: "web", Mount: &groups.Mount{Path: "keys"}})
			s.mount.Address = env.URL(c.address)
			err := s.reach(t.Context())
			if c.fails == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.fails)
			assert.ErrorContains(t, err, "OpenBao or Vault at "+c.address+" (VAULT_ADDR): ")
		})
	}
}

// TestAServerThatAcceptsAndSaysNothing waits as long as a run would, in a time of its own.
func TestAServerThatAcceptsAndSaysNothing(t *testing.T) {
	for name, speaks := range map[string]func(context.Context, dial) error{
		"PostgreSQL": func(ctx context.Context, d dial) error { return speaksPostgreSQL(ctx, d, "192.0.2.1:5432") },
		"Vault":      func(ctx context.Context, d dial) error { return speaksVault(ctx, d, "http://192.0.2.1") },
		"Vault, before TLS": func(ctx context.Context, d dial) error {
			return speaksVault(ctx, d, "https://192.0.2.1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mute := func(context.Context, string, string) (net.Conn, error) {
					ours, theirs := net.Pipe()
					go func() { _, _ = io.Copy(io.Discard, theirs) }()
					return ours, nil
				}
				began := time.Now()
				assert.Error(t, speaks(t.Context(), mute), "no answer within 10s")
				assert.Equal(t, time.Since(began), aliveLimit)
			})
		})
	}
}
