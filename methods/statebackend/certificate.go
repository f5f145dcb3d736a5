package statebackend

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// lifetime is how long a self-signed certificate is good, counted from an hour
// ago, for clients whose clock is behind. It ends with its server anyway.
const lifetime = 365 * 24 * time.Hour

// certificate gives the certificate of a server, nil without TLS, and the
// authority that clients have to be told of.
func certificate(o Serving, host netip.Addr) (pair *tls.Certificate, authority []byte, err error) {
	given := len(o.Certificate) > 0 || o.Key.IsSet()
	switch {
	case o.SelfSigned && given:
		return nil, nil, errors.New("a certificate is given and a self-signed one asked for: choose one")
	case o.SelfSigned && host.IsUnspecified():
		return nil, nil, fmt.Errorf("a self-signed certificate has to name its host, and %s is none: give an address, or a certificate", host)
	case o.SelfSigned:
		return selfSigned(host)
	case !given:
		return nil, nil, nil
	}
	made, err := tls.X509KeyPair(o.Certificate, []byte(o.Key.Reveal()))
	if err != nil {
		return nil, nil, fmt.Errorf("read certificate and key: %w", err)
	}
	return &made, nil, nil
}

func selfSigned(host netip.Addr) (*tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	began := time.Now().Add(-time.Hour)
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "state backend"},
		NotBefore:             began,
		NotAfter:              began.Add(lifetime),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // or clients would not take it for an authority
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{host.AsSlice()},
	}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("make a certificate: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text}), nil
}
