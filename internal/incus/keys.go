package incus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Keys are the coordinates of a server, and who we are to it.
type Keys struct {
	Address     env.URL    `env:"INCUS_ADDRESS,required" desc:"address of the Incus server, such as https://hv1.example.org:8443"`
	Server      env.Text   `env:"INCUS_SERVER_CERTIFICATE" desc:"the server's certificate in PEM, or its fingerprint (SHA-256, in hex); required, unless INCUS_TOKEN says it"`
	Certificate env.Secret `env:"INCUS_CLIENT_CERTIFICATE,required" desc:"certificate that we show the server, in PEM" lines:"several"`
	Key         env.Secret `env:"INCUS_CLIENT_KEY,required" desc:"private key of INCUS_CLIENT_CERTIFICATE, in PEM and without a passphrase" lines:"several"`
	Token       env.Secret `env:"INCUS_TOKEN" desc:"one-time token with which a server that does not know our certificate yet takes it in; passed over where it does"`
	Project     string     `env:"INCUS_PROJECT,default=default" desc:"project on the server"`
}

// Remote is a server that can be connected to: it has shown a certificate that
// the coordinates know.
type Remote struct {
	Address     string
	Fingerprint string // of the server's certificate, in lower-case hex
	Project     string
	Identity    tls.Certificate
}

var (
	hexFingerprint = regexp.MustCompile(`^[0-9a-f]{64}$`)
	projectName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)
)

// Remote makes plain values of the coordinates. It names everything that is wrong
// with them at once, and connects to nobody.
func (k Keys) Remote() (Remote, error) {
	r := Remote{Address: string(k.Address), Project: k.Project}
	var faults []error
	if !strings.HasPrefix(r.Address, "https://") {
		faults = append(faults, errors.New("INCUS_ADDRESS: starts not with https://, and Incus speaks nothing else over a network"))
	}
	var err error
	if r.Identity, err = tls.X509KeyPair([]byte(k.Certificate.Reveal()), []byte(k.Key.Reveal())); err != nil {
		faults = append(faults, fmt.Errorf("INCUS_CLIENT_CERTIFICATE, INCUS_CLIENT_KEY: %w", err))
	}
	if r.Fingerprint, err = k.pin(); err != nil {
		faults = append(faults, err)
	}
	if !projectName.MatchString(r.Project) {
		faults = append(faults, fmt.Errorf("INCUS_PROJECT: %q is no name of a project", r.Project))
	}
	if err := errors.Join(faults...); err != nil {
		return r, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	return r, nil
}

// pin is the fingerprint that the server must have.
func (k Keys) pin() (string, error) {
	var token string
	if k.Token.IsSet() {
		t, err := parseToken(k.Token)
		if err != nil {
			return "", fmt.Errorf("INCUS_TOKEN: %w", err)
		}
		token = t.Fingerprint
	}
	text := strings.TrimSpace(string(k.Server))
	if text == "" && token == "" {
		return "", errors.New("INCUS_SERVER_CERTIFICATE: is not set, and a server is never taken at its word")
	}
	if text == "" {
		return token, nil
	}
	if bare := strings.ToLower(strings.ReplaceAll(text, ":", "")); hexFingerprint.MatchString(bare) {
		return bare, nil
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return "", errors.New("INCUS_SERVER_CERTIFICATE: is neither a certificate in PEM nor a fingerprint of 64 hexadecimal digits")
	}
	if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		return "", fmt.Errorf("INCUS_SERVER_CERTIFICATE: %w", err)
	}
	return fingerprint(block.Bytes), nil
}

// Connect makes a client that the server knows: with a token it is taken in first.
func (k Keys) Connect(ctx context.Context, log *report.Log) (*Client, error) {
	r, err := k.Remote()
	if err != nil {
		return nil, err
	}
	c := New(r)
	if err := c.enrol(ctx, k.Token, log); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}
