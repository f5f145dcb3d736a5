//go:build checks

package checks

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	xssh "golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/internal/child"
)

// incusWorld is a world with an Incus daemon, in whose network it runs programs.
type incusWorld struct {
	*world
	daemon *incusd.Daemon
	admin  *http.Client
}

// newIncusWorld makes one whose coordinates are those of who runs the server.
func newIncusWorld(t *testing.T) *incusWorld {
	t.Helper()
	if missing := incusd.Missing(); missing != "" {
		t.Skip("missing part: " + missing)
	}
	w := &incusWorld{world: patientWorld(t)}
	_, _, cache := given(t)
	certificate, key := clientIdentity(t, "admin")
	var err error
	w.daemon, err = incusd.Boot(t.Context(), incusd.Options{Dir: filepath.Join(w.dir, "incus"), Cache: cache, Log: testWriter{t}, Admin: certificate})
	assert.NilError(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Incus:\n%s", w.daemon.Log())
		}
		assert.Check(t, w.daemon.Close())
	})
	w.enter, w.listen = w.daemon.Enter(), w.daemon.Inside
	w.admin = httpClient(t, w.daemon, certificate, key)
	w.as(certificate, key)
	w.env["INCUS_ADDRESS"], w.env["INCUS_SERVER_CERTIFICATE"] = incusd.Address, string(w.daemon.Certificate)
	w.env["TOFU_PROVIDER_MIRROR"] = w.mirror()
	w.env["SSH_KEY_FILE"] = w.sshKey()
	return w
}

// patientWorld is a world in which no line is cut, so that programs need not find out
// soon: a line is not given up because a busy host was silent.
func patientWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	delete(w.env, "SSH_KEEPALIVE")
	return w
}

// as makes programs come with a certificate.
func (w *incusWorld) as(certificate, key []byte) {
	w.t.Helper()
	w.env["INCUS_CLIENT_CERTIFICATE"] = string(certificate)
	w.env["INCUS_CLIENT_KEY_FILE"] = filepath.Join(w.dir, "client.key")
	assert.NilError(w.t, os.WriteFile(w.env["INCUS_CLIENT_KEY_FILE"], key, 0o600))
}

// clientIdentity makes a certificate that is signed by itself, as Incus's clients
// have.
func clientIdentity(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	assert.NilError(t, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames: []string{name}, // a server's must have one
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	assert.NilError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

// httpClient is a witness that is none of ours.
func httpClient(t *testing.T, d *incusd.Daemon, certificate, key []byte) *http.Client {
	t.Helper()
	identity, err := tls.X509KeyPair(certificate, key)
	assert.NilError(t, err)
	roots := x509.NewCertPool()
	assert.Assert(t, roots.AppendCertsFromPEM(d.Certificate))
	return &http.Client{Transport: &http.Transport{
		DialContext: d.Dial, TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{identity}},
		DisableKeepAlives: true,
	}}
}

// ask asks the server as who runs it, or as another, and gives the status and what
// was answered. What it sets off is waited for.
func (w *incusWorld) ask(who *http.Client, method, path string, body, into any) (status int, fault string) {
	w.t.Helper()
	text, err := json.Marshal(body)
	assert.NilError(w.t, err)
	q, err := http.NewRequestWithContext(w.t.Context(), method, incusd.Address+path, strings.NewReader(string(text)))
	assert.NilError(w.t, err)
	status, fault, metadata := w.answer(who, q)
	if into != nil && fault == "" {
		text, err := json.Marshal(metadata[""])
		assert.NilError(w.t, err)
		assert.NilError(w.t, json.Unmarshal(text, into))
	}
	return status, fault
}

// answer sends a request and reads the answer; what it set off is waited for, and its
// metadata are those of the operation. Those of any other answer stand under "".
func (w *incusWorld) answer(who *http.Client, q *http.Request) (status int, fault string, metadata map[string]any) {
	w.t.Helper()
	r, err := who.Do(q)
	assert.NilError(w.t, err)
	defer func() { assert.Check(w.t, r.Body.Close()) }()
	var a struct {
		Type      string `json:"type"`
		Operation string `json:"operation"`
		Error     string `json:"error"`
		Metadata  any    `json:"metadata"`
	}
	assert.NilError(w.t, json.NewDecoder(r.Body).Decode(&a))
	if a.Type != "async" {
		return r.StatusCode, a.Error, map[string]any{"": a.Metadata}
	}
	var o struct {
		StatusCode int            `json:"status_code"`
		Err        string         `json:"err"`
		Metadata   map[string]any `json:"metadata"`
	}
	if status, fault = w.ask(who, http.MethodGet, a.Operation+"/wait", nil, &o); fault != "" {
		return status, fault, nil
	}
	return o.StatusCode, o.Err, o.Metadata
}

// archiveOf is a tar archive with one file.
func archiveOf(t *testing.T, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	pack := tar.NewWriter(&out)
	assert.NilError(t, pack.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Format: tar.FormatUSTAR}))
	_, err := pack.Write([]byte(text))
	assert.NilError(t, err)
	assert.NilError(t, pack.Close())
	return out.Bytes()
}

// hosting are the facts of a provider whose key opens machines.
func (w *incusWorld) hosting() string {
	w.t.Helper()
	return `{"authorizedKeys":["` + publicHalf(w.t, w.env["SSH_KEY_FILE"]) + `"]}`
}

// publicHalf is the public half of a key in a file.
func publicHalf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	signer, err := xssh.ParsePrivateKey(text)
	assert.NilError(t, err)
	return strings.TrimSpace(string(xssh.MarshalAuthorizedKey(signer.PublicKey())))
}

// list lists what there is of a kind, by its address on the server.
func (w *incusWorld) list(path string) []string {
	w.t.Helper()
	var all []string
	status, fault := w.ask(w.admin, http.MethodGet, path, nil, &all)
	assert.Equal(w.t, status, http.StatusOK, fault)
	slices.Sort(all) // the server gives them in any order
	return all
}

// mirror is a folder with the stand-in of the provider, as OpenTofu looks for it.
func (w *incusWorld) mirror() string {
	w.t.Helper()
	program, err := provider()
	assert.NilError(w.t, err)
	dir := filepath.Join(w.dir, "mirror")
	place := filepath.Join(dir, "registry.opentofu.org", "lxc", "incus", "1.1.1", "linux_amd64")
	assert.NilError(w.t, os.MkdirAll(place, 0o755))
	assert.NilError(w.t, os.Symlink(program, filepath.Join(place, "terraform-provider-incus_v1.1.1")))
	return dir
}

var provider = sync.OnceValues(func() (string, error) { return buildCommand("./checks/incusprovider") })

// sshKey makes a key that opens what programs make.
func (w *incusWorld) sshKey() string {
	w.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(w.t, err)
	block, err := xssh.MarshalPrivateKey(private, "")
	assert.NilError(w.t, err)
	file := filepath.Join(w.dir, "ssh-key")
	assert.NilError(w.t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	return file
}

// inside runs a script on an instance, with Incus's own client as witness.
func (w *incusWorld) inside(address, script string) string {
	w.t.Helper()
	args := append(w.daemon.Enter(), "ssh", "-F", "none", "-q", "-i", w.env["SSH_KEY_FILE"], "-o", "IdentitiesOnly=yes",
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=60", "root@"+address, script)
	out, err := child.Command{Path: args[0], Args: args[1:], Env: pairs(w.env)}.Output(w.t.Context())
	assert.NilError(w.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// images makes the stand-in nixpkgs able to make images: it is given the machine
// that containers are made of, as an archive without an end.
func (w *world) images() {
	w.t.Helper()
	_, _, cache := given(w.t)
	tree, release, err := guest.Tree(w.t.Context(), filepath.Join(cache, "guest"), testWriter{w.t})
	assert.NilError(w.t, err)
	w.t.Cleanup(release)
	dir := filepath.Join(w.env["NIXPKGS"], "machine")
	assert.NilError(w.t, os.MkdirAll(dir, 0o755))
	archive, err := os.Create(filepath.Join(dir, "root.tar"))
	assert.NilError(w.t, err)
	assert.NilError(w.t, packTree(w.t.Context(), archive, tree))
	assert.NilError(w.t, archive.Close())
}

func packTree(ctx context.Context, to io.Writer, tree string) error {
	pack := tar.NewWriter(to)
	err := filepath.WalkDir(tree, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var link string
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(tree, path)
		if err != nil {
			return err
		}
		header.Name, header.Uname, header.Gname, header.Format = "./"+filepath.ToSlash(name), "", "", tar.FormatGNU
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			header.Uid, header.Gid = int(s.Uid), int(s.Gid)
		}
		if err := pack.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		_, err = io.Copy(pack, file)
		return err
	})
	if err != nil {
		return err
	}
	return pack.Flush()
}
