package incus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// identity is a certificate and its key, in PEM.
func identity(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	assert.NilError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// serve is a server that answers as a handler says, and the coordinates of it.
func serve(t *testing.T, h http.HandlerFunc) Keys {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	certificate, key := identity(t)
	return Keys{
		Address: env.URL(s.URL), Server: env.Text(fingerprint(s.Certificate().Raw)), Project: "default",
		Certificate: env.NewSecret(certificate), Key: env.NewSecret(key),
	}
}

// connected is a client of it.
func connected(t *testing.T, k Keys) *Client {
	t.Helper()
	r, err := k.Remote()
	assert.NilError(t, err)
	c := New(r)
	t.Cleanup(c.Close)
	return c
}

func answerWith(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestCoordinatesOfAServer(t *testing.T) {
	certificate, key := identity(t)
	good := Keys{Address: "https://hv1:8443", Server: env.Text(strings.Repeat("AB:", 31) + "AB"), Project: "default", Certificate: env.NewSecret(certificate), Key: env.NewSecret(key)}
	r, err := good.Remote()
	assert.NilError(t, err)
	assert.Equal(t, r.Fingerprint, strings.Repeat("ab", 32))
	text := good
	text.Server = env.Text(certificate)
	_, err = text.Remote()
	assert.NilError(t, err)
	token := good
	token.Server, token.Token = "", env.NewSecret(base64.StdEncoding.EncodeToString([]byte(`{"client_name":"x","fingerprint":"`+strings.Repeat("0", 64)+`","secret":"s"}`)))
	r, err = token.Remote()
	assert.NilError(t, err)
	assert.Equal(t, r.Fingerprint, strings.Repeat("0", 64), "a token says which server it is of")

	bad := Keys{Address: "http://hv1", Project: "a/b", Certificate: env.NewSecret("none"), Key: env.NewSecret(key), Token: env.NewSecret("none")}
	_, err = bad.Remote()
	assert.Equal(t, report.CodeOf(err), report.Usage)
	for _, part := range []string{"INCUS_ADDRESS: ", "INCUS_CLIENT_CERTIFICATE, INCUS_CLIENT_KEY: ", "INCUS_TOKEN: ", "INCUS_PROJECT: "} {
		assert.Check(t, cmp.ErrorContains(err, part))
	}
	bare := good
	bare.Server = ""
	_, err = bare.Remote()
	assert.ErrorContains(t, err, "never taken at its word")
	assert.Assert(t, !strings.Contains(fmt.Sprintf("%+v", err), "PRIVATE"))
}

func TestAStrangerIsNotSpokenTo(t *testing.T) {
	asked := false
	k := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	k.Server = env.Text(strings.Repeat("0", 64))
	_, err := k.Connect(t.Context(), nil)
	assert.Equal(t, report.CodeOf(err), report.Refused)
	assert.ErrorIs(t, err, ErrStranger)
	assert.Assert(t, !asked)
}

// TestATokenServesOnce connects with a token that another member of the run spends
// at the same time, with one that serves nobody, and to a server that goes away.
func TestATokenServesOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int  // of the answer to the token
		known  bool // afterwards
		gone   bool // afterwards
		code   report.Code
	}{
		{"spent by another", http.StatusBadRequest, true, false, report.Healthy},
		{"the answer was lost", http.StatusBadGateway, true, false, report.Healthy},
		{"none of the server's", http.StatusForbidden, false, false, report.Refused},
		{"nobody is there any more", http.StatusBadGateway, false, true, report.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			auth := "untrusted"
			tried := false
			k := serve(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					tried = true
					if c.known {
						auth = "trusted"
					}
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, `{"type":"error","error":"no"}`)
				case tried && c.gone:
					w.WriteHeader(http.StatusBadGateway)
				default:
					_, _ = io.WriteString(w, `{"type":"sync","metadata":{"auth":"`+auth+`"}}`)
				}
			})
			text := `{"fingerprint":"` + string(k.Server) + `","secret":"s","addresses":["a"]}`
			k.Token = env.NewSecret(base64.StdEncoding.EncodeToString([]byte(text)))
			_, err := k.Connect(t.Context(), report.NewLog(report.Plain(io.Discard)))
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			assert.Assert(t, tried)
		})
	}
}

func TestNobodyThereIsUnknown(t *testing.T) {
	k := serve(t, answerWith(""))
	k.Address = "https://127.0.0.1:1"
	_, err := k.Connect(t.Context(), nil)
	assert.Equal(t, report.CodeOf(err), report.Unknown)
}

func TestWhatAnswersMean(t *testing.T) {
	for _, c := range []struct {
		name              string
		status            int
		text              string
		absent, forbidden bool
		says              string
	}{
		{"absent", http.StatusNotFound, `{"type":"error","error":"Not found"}`, true, false, "Not found (404)"},
		{"forbidden", http.StatusForbidden, `{"type":"error","error":"not authorized"}`, false, true, "not authorized (403)"},
		{"a proxy's page", http.StatusOK, `<html>`, false, false, "no answer of Incus's"},
		{"an operation that failed", http.StatusOK, `{"type":"sync","metadata":{"status_code":400,"err":"disk full"}}`, false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := connected(t, serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.text)
			}))
			_, err := api.Get(t.Context(), "default", "instances", "a/b")
			if c.says == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Equal(t, Absent(err), c.absent)
			assert.Equal(t, Forbidden(err), c.forbidden)
		})
	}
}

func TestAnOperationIsWaitedFor(t *testing.T) {
	var paths []string
	api := connected(t, serve(t, func(w http.ResponseWriter, q *http.Request) {
		paths = append(paths, q.Method+" "+q.URL.EscapedPath())
		if q.Method == http.MethodPost {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, `{"type":"async","operation":"/1.0/operations/7"}`)
			return
		}
		_, _ = io.WriteString(w, `{"type":"sync","metadata":{"status_code":400,"err":"disk full"}}`)
	}))
	err := api.call(t.Context(), http.MethodPost, path(nil, "things", "a/b"), nil, nil)
	assert.ErrorContains(t, err, "disk full")
	assert.DeepEqual(t, paths, []string{"POST /1.0/things/a%2Fb", "GET /1.0/operations/7/wait"})
}

// TestAnOperationThatIsForgotten asks how an operation ended when the server knows it
// no more: what came of it is looked for.
func TestAnOperationThatIsForgotten(t *testing.T) {
	dir := t.TempDir()
	f := Files{Metadata: filepath.Join(dir, "metadata.tar.xz"), Root: filepath.Join(dir, "nixos.qcow2"), VM: true}
	assert.NilError(t, os.WriteFile(f.Metadata, nil, 0o600))
	assert.NilError(t, os.WriteFile(f.Root, nil, 0o600))
	for _, there := range []bool{true, false} {
		api := connected(t, serve(t, func(w http.ResponseWriter, q *http.Request) {
			_, _ = io.Copy(io.Discard, q.Body)
			switch {
			case q.Method != http.MethodGet:
				w.WriteHeader(http.StatusAccepted)
				_, _ = io.WriteString(w, `{"type":"async","operation":"/1.0/operations/7"}`)
			case q.URL.Path == "/1.0/images/abc" && there:
				_, _ = io.WriteString(w, `{"type":"sync","metadata":{}}`)
			default:
				w.WriteHeader(http.StatusNotFound)
				_, _ = io.WriteString(w, `{"type":"error","error":"Not found"}`)
			}
		}))
		got, uploaded := api.Upload(t.Context(), f, "abc", nil)
		deleted := api.DeleteImage(t.Context(), "abc")
		if there {
			assert.NilError(t, uploaded)
			assert.Equal(t, got, "abc")
			assert.ErrorIs(t, deleted, errForgotten)
		} else {
			assert.ErrorIs(t, uploaded, errForgotten)
			assert.NilError(t, deleted)
		}
	}
}

func TestTheAddressesOfAnInstanceAreThoseOfItsCards(t *testing.T) {
	api := connected(t, serve(t, answerWith(`{"type":"sync","metadata":{"status":"Running","network":{
		"docker0":{"addresses":[{"family":"inet","address":"172.17.0.1","scope":"global"}]},
		"eth0":{"host_name":"veth1","addresses":[{"family":"inet6","address":"2001:db8::7","scope":"global"},{"family":"inet6","address":"fe80::1","scope":"link"},{"family":"inet","address":"192.0.2.7","scope":"global"}]},
		"lo":{"addresses":[{"family":"inet","address":"127.0.0.1","scope":"local"}]}}}}`)))
	i, err := api.Instance(t.Context(), "web")
	assert.NilError(t, err)
	assert.Assert(t, i.Running)
	assert.DeepEqual(t, i.Addresses, []string{"192.0.2.7", "2001:db8::7"})
}

func TestAddressesThatChangeForPrivacyAreNotTaken(t *testing.T) {
	const mac = "00:16:3e:aa:bb:cc"
	for _, c := range []struct {
		name, mac string
		has, want []string
	}{
		{"beside a lasting one", mac, []string{"2001:db8::1234:5678:9abc:def0", "2001:db8::216:3eff:feaa:bbcc"}, []string{"2001:db8::216:3eff:feaa:bbcc"}},
		{"of another network", mac, []string{"2001:db8::216:3eff:feaa:bbcc", "2001:db8:1::7"}, []string{"2001:db8::216:3eff:feaa:bbcc", "2001:db8:1::7"}},
		{"alone", mac, []string{"2001:db8::7", "2001:db8::8"}, []string{"2001:db8::7", "2001:db8::8"}},
		{"of IPv4", mac, []string{"192.0.2.7", "192.0.2.8"}, []string{"192.0.2.7", "192.0.2.8"}},
		{"no hardware address", "", []string{"2001:db8::7"}, []string{"2001:db8::7"}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, lasting(c.has, c.mac), c.want) })
	}
}

func TestASplitImageIsSentInTheOrderOfItsFingerprint(t *testing.T) {
	dir := t.TempDir()
	f := Files{Metadata: filepath.Join(dir, "metadata.tar.xz"), Root: filepath.Join(dir, "nixos.qcow2"), VM: true}
	assert.NilError(t, os.WriteFile(f.Metadata, []byte("meta"), 0o600))
	assert.NilError(t, os.WriteFile(f.Root, []byte("root"), 0o600))
	want := sha256.Sum256([]byte("metaroot"))
	name, err := f.Fingerprint()
	assert.NilError(t, err)
	assert.Equal(t, name, hex.EncodeToString(want[:]))
	api := connected(t, serve(t, func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"type":"sync","metadata":{"status_code":200,"metadata":{"fingerprint":"`+name+`"}}}`)
			return
		}
		_, p, err := mime.ParseMediaType(q.Header.Get("Content-Type"))
		assert.Check(t, err)
		parts := multipart.NewReader(q.Body, p["boundary"])
		for _, part := range []string{"metadata", "rootfs.img"} {
			got, err := parts.NextPart()
			assert.Check(t, err)
			assert.Check(t, cmp.Equal(got.FormName(), part))
		}
		assert.Check(t, cmp.Equal(q.Header.Get("X-Incus-fingerprint"), name))
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"type":"async","operation":"/1.0/operations/7"}`)
	}))
	got, err := api.Upload(t.Context(), f, name, map[string]string{"os": "NixOS"})
	assert.NilError(t, err)
	assert.Equal(t, got, name)
}
