package statebackend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/durable"
	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

const (
	user     = "deployer"
	password = "correct horse"
	lineage  = "4a1d5b1e-3c2f-4f0e-8a57-3f8e6d7c9b10"
)

var access = Access{User: user, Password: env.NewSecret(password)}

func opened(t testing.TB, o Options) *Store {
	t.Helper()
	store, err := Open(filepath.Join(t.TempDir(), "states"), o)
	assert.NilError(t, err)
	t.Cleanup(func() { assert.Check(t, store.Close()) })
	return store
}

// backend is a client of the state web of a server at an address.
func backend(address string) protocol.Backend {
	web := address + "/state/web"
	return protocol.Backend{
		URL: web, LockURL: web, LockMethod: "LOCK", UnlockURL: web, UnlockMethod: "UNLOCK",
		User: user, Password: password,
	}
}

// served gives a store and a client of its state web.
func served(t testing.TB, o Options, a Access) (*Store, protocol.Backend) {
	t.Helper()
	store := opened(t, o)
	server := httptest.NewServer(Handler(store, a, &report.Log{}))
	t.Cleanup(server.Close)
	return store, backend(server.URL)
}

// TestProtocol runs the suite over each way of locking that clients are set to.
func TestProtocol(t *testing.T) {
	for _, c := range []struct {
		name         string
		below        string
		lock, unlock string
	}{
		{"as OpenTofu does by default", "", "LOCK", "UNLOCK"},
		{"LOCK and UNLOCK at an address of their own", "/lock", "LOCK", "UNLOCK"},
		{"POST and DELETE", "/lock", "POST", "DELETE"},
		{"PUT and DELETE", "/lock", "PUT", "DELETE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			protocol.Run(t, func(t *testing.T) protocol.Backend {
				_, b := served(t, Options{}, access)
				b.LockURL, b.LockMethod = b.URL+c.below, c.lock
				b.UnlockURL, b.UnlockMethod = b.URL+c.below, c.unlock
				return b
			})
		})
	}
}

// TestProtocolOverTLS runs the suite over a server as a user starts it.
func TestProtocolOverTLS(t *testing.T) {
	protocol.Run(t, func(t *testing.T) protocol.Backend {
		server := started(t, Serving{Access: access, SelfSigned: true})
		b := backend(strings.TrimSuffix(server.State(""), prefix))
		assert.Assert(t, strings.HasPrefix(b.URL, "https://127.0.0.1:"))
		roots := x509.NewCertPool()
		assert.Assert(t, roots.AppendCertsFromPEM(server.Authority()))
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
		t.Cleanup(transport.CloseIdleConnections)
		b.Client = &http.Client{Transport: transport}
		return b
	})
}

// started serves a store of its own until the end of the test.
func started(t *testing.T, o Serving) *Server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	server, err := Listen(ctx, opened(t, Options{}), o)
	assert.NilError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		assert.Check(t, <-ended)
	})
	return server
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	assert.NilError(t, err)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func ok(t *testing.T, a protocol.Answer) {
	t.Helper()
	assert.Assert(t, a.Err == nil && a.Status == http.StatusOK, "%s", a)
}

func refusedAs(t *testing.T, a protocol.Answer, status int, text string) {
	t.Helper()
	assert.Assert(t, a.Err == nil && a.Status == status, "%s, want %d", a, status)
	assert.Assert(t, cmp.Contains(a.Body, text))
}

func TestVersionsAreFilesThatReadAsTheyAre(t *testing.T) {
	store, b := served(t, Options{Keep: 3}, access)
	lock := protocol.NewLock("apply")
	ok(t, b.Lock(t.Context(), lock))
	for serial := 1; serial <= 5; serial++ {
		ok(t, b.Post(t.Context(), protocol.State(lineage, serial, 1), lock.ID))
	}
	dir := filepath.Join(store.dir, "web")
	assert.DeepEqual(t, files(t, dir), []string{
		"00000003-serial-3.tfstate", "00000004-serial-4.tfstate", "00000005-serial-5.tfstate", "lock.json",
	})
	list, err := store.Versions("web")
	assert.NilError(t, err)
	assert.Equal(t, len(list), 3)
	assert.Equal(t, list[0].Number, uint64(3))
	assert.Equal(t, list[2].Serial, uint64(5))
	text, err := os.ReadFile(list[1].Path)
	assert.NilError(t, err)
	assert.Equal(t, string(text), protocol.State(lineage, 4, 1))

	ok(t, b.Delete(t.Context(), lock.ID))
	ok(t, b.Delete(t.Context(), lock.ID))
	assert.DeepEqual(t, files(t, dir), []string{
		"00000004-serial-4.tfstate", "00000005-serial-5.tfstate", "00000006-deleted", "lock.json",
	})
	names, err := store.Names()
	assert.NilError(t, err)
	assert.DeepEqual(t, names, []string{"web"})

	for path, want := range map[string]os.FileMode{store.dir: 0o700, dir: 0o700, list[2].Path: 0o600, filepath.Join(dir, lockFile): 0o600} {
		info, err := os.Stat(path)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), want, path)
	}
}

func TestAStoreOutlivesItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "states")
	lock := protocol.NewLock("apply")
	state := protocol.State(lineage, 1, 2)

	store, err := Open(dir, Options{})
	assert.NilError(t, err)
	server := httptest.NewServer(Handler(store, access, &report.Log{}))
	b := backend(server.URL)
	ok(t, b.Lock(t.Context(), lock))
	ok(t, b.Post(t.Context(), state, lock.ID))
	_, err = Open(dir, Options{})
	assert.ErrorContains(t, err, "another process serves this folder")
	server.Close()
	assert.NilError(t, store.Close())
	half := filepath.Join(dir, "web", durable.Half+"lock123")
	assert.NilError(t, os.WriteFile(half, []byte("{"), 0o600))

	store, err = Open(dir, Options{})
	assert.NilError(t, err)
	defer func() { assert.Check(t, store.Close()) }()
	_, err = os.Stat(half)
	assert.ErrorIs(t, err, os.ErrNotExist)
	server = httptest.NewServer(Handler(store, access, &report.Log{}))
	defer server.Close()
	b = backend(server.URL)
	assert.Equal(t, b.Get(t.Context()).Body, state)
	refusedAs(t, b.Lock(t.Context(), protocol.NewLock("plan")), http.StatusLocked, lock.ID)
	ok(t, b.Unlock(t.Context(), lock))
}

func TestNamesOfStatesAreSafe(t *testing.T) {
	store := opened(t, Options{})
	for _, name := range []string{"", ".", "..", ".web", "a/b", "../a", "a\x00", "A", "ä", "a b", "-a", strings.Repeat("a", 101)} {
		assert.ErrorContains(t, store.write(name, "", []byte(protocol.State(lineage, 1, 1)), false), "must be 1 to 100")
		_, err := store.Versions(name)
		assert.ErrorContains(t, err, "must be 1 to 100")
	}
	assert.Equal(t, len(files(t, store.dir)), 0)
	for _, name := range []string{"a", "operator-web", "db-1.example_org", strings.Repeat("a", 100)} {
		assert.NilError(t, store.write(name, "", []byte(protocol.State(lineage, 1, 1)), false))
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	_, err := Open(t.TempDir(), Options{Keep: -1})
	assert.Error(t, err, "open state store: can't keep -1 versions: at least 1 is the state itself")
	file := filepath.Join(t.TempDir(), "file")
	assert.NilError(t, os.WriteFile(file, nil, 0o600))
	_, err = Open(file, Options{})
	assert.ErrorContains(t, err, "not a directory")
}
