package incus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// TestAServersCertificateMustDoForIncusItself shows certificates that are the expected
// ones, each by its fingerprint, and of which Incus's own client takes not every one.
func TestAServersCertificateMustDoForIncusItself(t *testing.T) {
	here, server, client := []net.IP{net.IPv4(127, 0, 0, 1)}, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth
	for _, c := range []struct {
		name  string
		dns   []string
		ips   []net.IP
		uses  []x509.ExtKeyUsage
		unfit bool
	}{
		{"as Incus makes them", []string{"hv1"}, here, []x509.ExtKeyUsage{server}, false},
		{"a name that is not the address", []string{"hv1"}, nil, nil, false},
		{"the address alone", nil, here, nil, false},
		{"for both sides", []string{"hv1"}, nil, []x509.ExtKeyUsage{client, server}, false},
		{"neither name nor address", nil, nil, nil, true},
		{"for the other side", []string{"hv1"}, nil, []x509.ExtKeyUsage{client}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			assert.NilError(t, err)
			template := &x509.Certificate{
				SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
				DNSNames: c.dns, IPAddresses: c.ips, ExtKeyUsage: c.uses, KeyUsage: x509.KeyUsageDigitalSignature,
			}
			der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
			assert.NilError(t, err)
			s := httptest.NewUnstartedServer(answerWith("{}"))
			s.TLS = &tls.Config{
				MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert,
				Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
			}
			s.StartTLS()
			t.Cleanup(s.Close)
			certificate, key := identity(t)
			_, err = connected(t, Keys{
				Address: env.URL(s.URL), Server: env.Text(fingerprint(der)), Project: "default",
				Certificate: env.NewSecret(certificate), Key: env.NewSecret(key),
			}).Folder(t.Context(), "hv1")
			if c.unfit {
				assert.ErrorIs(t, err, ErrUnfit)
				return
			}
			assert.NilError(t, err)
		})
	}
}
