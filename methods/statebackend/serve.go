package statebackend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// The time-outs of a server. A state of the default limit passes in the time at
// 1 MiB a second.
const (
	headerTimeout   = 10 * time.Second
	requestTimeout  = 60 * time.Second
	answerTimeout   = 2 * time.Minute // begins with the request's headers
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 10 * time.Second
)

// Serving says how a store is offered.
type Serving struct {
	Access
	Address     string     // host and port to listen on; empty means a free port of 127.0.0.1
	Certificate []byte     // PEM, for TLS
	Key         env.Secret // PEM, of Certificate
	SelfSigned  bool       // TLS with a certificate made at the start, in place of Certificate
	Log         *report.Log
}

// Server is a store that is offered.
type Server struct {
	listener  net.Listener
	server    *http.Server
	scheme    string
	authority []byte
	log       *report.Log
	last      time.Duration // that requests may take when it ends
}

// Listen begins to listen; requests are answered by Serve. States hold secrets: a
// password is needed, and TLS on an address that other hosts can reach.
func Listen(ctx context.Context, store *Store, o Serving) (*Server, error) {
	s, err := listen(ctx, store, o)
	if err != nil {
		return nil, fmt.Errorf("serve states: %w", err)
	}
	return s, nil
}

func listen(ctx context.Context, store *Store, o Serving) (*Server, error) {
	if !o.Password.IsSet() {
		return nil, errors.New("a password is needed: states hold secrets")
	}
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Log == nil {
		o.Log = &report.Log{}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.Address)
	if err != nil {
		return nil, err
	}
	s := &Server{listener: listener, scheme: "http", log: o.Log, last: shutdownTimeout}
	if err := s.secure(o); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.server = &http.Server{
		Handler:           Handler(store, o.Access, o.Log),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(troubles{o.Log}, "", 0),
	}
	return s, nil
}

// secure puts TLS around the listener where that is wanted, and insists on it where
// others can listen.
func (s *Server) secure(o Serving) error {
	host, err := netip.ParseAddrPort(s.listener.Addr().String())
	if err != nil {
		return err
	}
	pair, authority, err := certificate(o, host.Addr())
	if err != nil {
		return err
	}
	if pair == nil && !host.Addr().IsLoopback() {
		return fmt.Errorf("%s can be reached by other hosts: states are served there with TLS only", host)
	}
	if pair != nil {
		s.listener = tls.NewListener(s.listener, &tls.Config{
			Certificates: []tls.Certificate{*pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		})
		s.scheme, s.authority = "https", authority
	}
	return nil
}

// State is the address of a state. The address of its lock is the same.
func (s *Server) State(name string) string {
	return s.scheme + "://" + s.listener.Addr().String() + prefix + name
}

// Authority is the certificate in PEM that clients of a self-signed server have to
// trust, as TF_HTTP_CLIENT_CA_CERTIFICATE_PEM; nil for any other server.
func (s *Server) Authority() []byte { return s.authority }

// Serve answers requests until the context ends, and then those that have begun.
// The end of the context is no error.
func (s *Server) Serve(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.server.Serve(s.listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve states: %w", err)
	case <-ctx.Done():
	}
	s.log.Infof("stop serving states: %v", context.Cause(ctx))
	last, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), s.last,
		fmt.Errorf("requests still ran %s after the end", s.last))
	defer cancel()
	if err := s.server.Shutdown(last); err != nil {
		return fmt.Errorf("serve states: %w", errors.Join(context.Cause(last), s.server.Close()))
	}
	return nil
}

// Close ends a server at once, also one that never served.
func (s *Server) Close() error {
	return errors.Join(s.server.Close(), ignoreClosed(s.listener.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// troubles takes what net/http itself has to say, such as failed handshakes.
type troubles struct{ log *report.Log }

func (t troubles) Write(line []byte) (int, error) {
	t.log.Warnf("%s", line)
	return len(line), nil
}
