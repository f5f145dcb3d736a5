package incus

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// fingerprint is what Incus calls a certificate by.
func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// ErrStranger is a server with another certificate than the one expected.
var ErrStranger = errors.New("the server has another certificate than INCUS_SERVER_CERTIFICATE says")

// tls pins the server: its certificate is signed by itself, so that names and
// authorities say nothing.
func (r Remote) tls() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{r.Identity},
		InsecureSkipVerify: true, // the verification below takes its place
		VerifyConnection: func(s tls.ConnectionState) error {
			if got := fingerprint(s.PeerCertificates[0].Raw); got != r.Fingerprint {
				return fmt.Errorf("%w: it shows %s, expected is %s", ErrStranger, got, r.Fingerprint)
			}
			return nil
		},
	}
}

// Folder is what Incus's own client library wants in its configuration folder to
// reach the server under a name: our certificate and key, and the server's
// certificate. That library also takes a certificate that the host's authorities
// vouch for, where ours takes the one alone.
func (c *Client) Folder(ctx context.Context, name string) (map[string][]byte, error) {
	server, err := c.certificate(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.fits(server); err != nil {
		return nil, err
	}
	key, err := x509.MarshalPKCS8PrivateKey(c.remote.Identity.PrivateKey)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"client.crt":                   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.remote.Identity.Certificate[0]}),
		"client.key":                   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"servercerts/" + name + ".crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Raw}),
	}, nil
}

// ErrUnfit is a certificate of a server that Incus's own client library refuses,
// though it is the expected one.
var ErrUnfit = errors.New("the server's certificate is none that Incus's own client takes")

// fits judges the server's certificate as Incus's client library does (its source,
// shared/tls, version 7): it must vouch for itself as a server, by its first DNS name
// or else by the address.
func (c *Client) fits(server *x509.Certificate) error {
	address, err := url.Parse(c.base)
	if err != nil {
		return err
	}
	name := address.Hostname()
	if len(server.DNSNames) > 0 {
		name = server.DNSNames[0]
	}
	own := *server
	own.IsCA, own.KeyUsage = true, x509.KeyUsageCertSign
	roots := x509.NewCertPool()
	roots.AddCert(&own)
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
		return fmt.Errorf("%w: %w; it needs a DNS name or the address among its subject alternative names, and serverAuth where it says what it is for", ErrUnfit, err)
	}
	return nil
}

// certificate is the server's, which a fingerprint alone does not give.
func (c *Client) certificate(ctx context.Context) (*x509.Certificate, error) {
	address, err := url.Parse(c.base)
	if err != nil {
		return nil, err
	}
	host := address.Host
	if address.Port() == "" {
		host = net.JoinHostPort(address.Hostname(), "443")
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialLimit}, Config: c.remote.tls()}
	conn, err := dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil //nolint:forcetypeassert // tls.Dialer makes no other
}
