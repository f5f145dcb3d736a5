package inherent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"
)

// answerLimit is how long the providers wait for an answer, and aliveLimit how long a
// server may take to say anything at all.
const (
	answerLimit = 20 * time.Second
	aliveLimit  = 10 * time.Second
)

// clientTimeout bounds a request of the provider hashicorp/vault, its repetitions
// included, which has no argument for that (hashicorp/vault/api, EnvVaultClientTimeout).
const clientTimeout = "VAULT_CLIENT_TIMEOUT"

// dial connects, as net.Dialer does.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// reach asks the servers whether they are there. It knows what is no answer by itself:
// a provider's words for it are of no certain form.
func (s *State) reach(ctx context.Context) error {
	var faults []error
	connect := (&net.Dialer{}).DialContext
	if s.machine.Database != nil {
		address := net.JoinHostPort(string(s.database.Host), strconv.Itoa(int(s.database.Port)))
		if err := speaksPostgreSQL(ctx, connect, address); err != nil {
			faults = append(faults, fmt.Errorf("PostgreSQL at %s (DATABASE_HOST, DATABASE_PORT): %w", address, err))
		}
	}
	if s.machine.Mount != nil {
		if err := speaksVault(ctx, connect, string(s.mount.Address)); err != nil {
			faults = append(faults, fmt.Errorf("OpenBao or Vault at %s (VAULT_ADDR): %w", s.mount.Address, err))
		}
	}
	return errors.Join(faults...)
}

// silent says it of a server that was connected to and did not answer in time.
func silent(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", aliveLimit)
	}
	return err
}

// speaksPostgreSQL asks for TLS, to which every server has an answer of one byte, be it
// that it has none (PostgreSQL documentation, "SSL Session Encryption").
func speaksPostgreSQL(ctx context.Context, connect dial, address string) error {
	ctx, cancel := context.WithTimeout(ctx, aliveLimit)
	defer cancel()
	conn, err := connect(ctx, "tcp", address)
	if err != nil {
		return silent(err)
	}
	defer func() { _ = conn.Close() }()
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	if _, err := conn.Write([]byte{0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f}); err != nil {
		return silent(err)
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return silent(err)
}

// speaksVault asks for the health, which needs no token. Whatever is answered, the server
// is there, also if it is not believed; unless a proxy answers that it is not.
func speaksVault(ctx context.Context, connect dial, address string) error {
	ctx, cancel := context.WithTimeout(ctx, aliveLimit)
	defer cancel()
	at, err := url.JoinPath(address, "v1/sys/health")
	if err != nil {
		return err
	}
	// A sealed server or one in waiting would answer as a proxy does without one.
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"?standbyok=true&sealedcode=200&uninitcode=200", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{Proxy: nil, DialContext: connect, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		return nil
	}
	if err != nil {
		return silent(err)
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("what is before it answers %s", response.Status)
	}
	return nil
}
