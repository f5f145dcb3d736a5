package backend

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
)

// issued is a certificate for clients, with its key, in PEM.
func issued(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "slipway"}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	assert.NilError(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	assert.NilError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

func TestTLS(t *testing.T) {
	certificate, key := issued(t)
	pool := x509.NewCertPool()
	assert.Assert(t, pool.AppendCertsFromPEM([]byte(certificate)))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	_, another := issued(t)
	for _, c := range []struct {
		name string
		keys Keys
		says string // of New or of Get; empty is success
		hint string // of Get
	}{
		{"all given", Keys{Authority: env.Text(authority), Certificate: env.Text(certificate), Key: env.NewSecret(key)}, "", ""},
		{"no authority", Keys{Certificate: env.Text(certificate), Key: env.NewSecret(key)}, "certificate signed by unknown authority", "CA_CERTIFICATE_PEM"},
		{"no certificate of ours", Keys{Authority: env.Text(authority)}, "certificate required", "TF_HTTP_CLIENT_CERTIFICATE_PEM"},
		{"a certificate without its key", Keys{Authority: env.Text(authority), Certificate: env.Text(certificate)}, "belong together", ""},
		{"a key of another certificate", Keys{Certificate: env.Text(certificate), Key: env.NewSecret(another)}, "does not match", ""},
		{"an authority that is none", Keys{Authority: "rubbish"}, "holds no certificate", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.keys.Address = env.URL(server.URL)
			// A pause that would be waited for is one too many.
			client, err := New(c.keys, Pace{Try: time.Hour, Pauses: []time.Duration{time.Hour}}, nil)
			if err == nil {
				defer client.Close()
				_, _, err = client.Get(t.Context())
			}
			if c.says == "" {
				assert.NilError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.says)
			assert.Assert(t, !Unreached(err), "it is there, so that no run may do without it")
			if insecure, ok := errors.AsType[*InsecureError](err); ok {
				assert.Assert(t, cmp.Contains(insecure.Hint(), c.hint))
				assert.Assert(t, c.hint != "")
			} else {
				assert.Equal(t, c.hint, "")
			}
		})
	}
}

func TestCheckGivesEveryFault(t *testing.T) {
	err := Keys{Authority: "rubbish", Certificate: "rubbish"}.Check()
	assert.ErrorContains(t, err, "holds no certificate")
	assert.ErrorContains(t, err, "belong together")
	assert.NilError(t, Keys{}.Check())
}

func TestTLSToAServerWithout(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	client, err := New(Keys{Address: env.URL(strings.Replace(server.URL, "http:", "https:", 1))}, Pace{Try: time.Hour, Pauses: []time.Duration{time.Hour}}, nil)
	assert.NilError(t, err)
	defer client.Close()
	_, _, err = client.Get(t.Context())
	insecure, ok := errors.AsType[*InsecureError](err)
	assert.Assert(t, ok, "%v", err)
	assert.Assert(t, cmp.Contains(insecure.Hint(), "http://"))
}

func TestKeysAreSound(t *testing.T) {
	_, err := env.Declared(Keys{})
	assert.NilError(t, err)
	var k Keys
	err = env.Map(map[string]string{"TF_HTTP_ADDRESS": "https://example.org/state"}).Load(t.Context(), env.For{}, &k)
	assert.ErrorContains(t, err, "TF_HTTP_LOCK_ADDRESS")
	assert.ErrorContains(t, err, "TF_HTTP_UNLOCK_ADDRESS")
}
