package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
)

// oddServer is a server of our own making, for what a real one does not do on
// demand. Its sessions do as the field says.
type oddServer struct {
	hop     Hop
	signer  ssh.Signer // lets the user in
	session func(ssh.Channel, <-chan *ssh.Request)
}

func startOddServer(t *testing.T, session func(ssh.Channel, <-chan *ssh.Request), hostKeys ...ssh.Signer) *oddServer {
	t.Helper()
	s := &oddServer{session: session}
	s.signer, _ = userKey(t)
	config := &ssh.ServerConfig{
		MaxAuthTries: 3,
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(s.signer.PublicKey().Marshal()) {
				return nil, net.ErrClosed
			}
			return nil, nil
		},
	}
	for _, key := range hostKeys {
		config.AddHostKey(key)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	s.hop = Hop{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "someone"}
	var running sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() { s.serve(conn, config) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range conns {
			_ = c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return s
}

func (s *oddServer) serve(conn net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	for offered := range channels {
		if s.session == nil {
			_ = offered.Reject(ssh.ConnectionFailed, "open failed")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		sessions.Go(func() { s.session(channel, requests) })
	}
}

func (s *oddServer) target(keys ...ssh.PublicKey) Target {
	t := Target{Host: s.hop.Host, Port: s.hop.Port, User: s.hop.User, Keys: []ssh.Signer{s.signer}}
	for _, key := range keys {
		t.HostKeys = append(t.HostKeys, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
	}
	return t
}

// exit ends a session as a server does.
func exit(channel ssh.Channel, status uint32) {
	_, _ = channel.SendRequest("exit-status", false, binary.BigEndian.AppendUint32(nil, status))
	_ = channel.Close()
}

func rsaKey(t testing.TB) ssh.Signer {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	assert.NilError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	assert.NilError(t, err)
	return signer
}

func ecdsaKey(t testing.TB) ssh.Signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	assert.NilError(t, err)
	return signer
}
