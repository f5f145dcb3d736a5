package statebackend

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/statebackend/protocol"
	"fediversity.eu/slipway/targets/env"
)

func TestStatesAreNotServedInTheOpen(t *testing.T) {
	store := opened(t, Options{})
	for _, c := range []struct {
		name string
		o    Serving
		says string
	}{
		{"no password", Serving{Access: Access{User: user}}, "a password is needed"},
		{"no TLS where others listen", Serving{Address: "0.0.0.0:0", Access: access}, "served there with TLS only"},
		{"no host to sign for", Serving{Address: "0.0.0.0:0", Access: access, SelfSigned: true}, "has to name its host"},
		{"two certificates", Serving{Access: access, SelfSigned: true, Certificate: []byte("x")}, "choose one"},
		{"a bad certificate", Serving{Access: access, Certificate: []byte("x"), Key: env.NewSecret("secret key")}, "read certificate and key"},
		{"a key alone", Serving{Access: access, Key: env.NewSecret("secret key")}, "read certificate and key"},
		{"no address", Serving{Access: access, Address: "nonsense"}, "missing port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Listen(t.Context(), store, c.o)
			assert.ErrorContains(t, err, c.says)
			assert.ErrorContains(t, err, "serve states: ")
			assert.Assert(t, !strings.Contains(err.Error(), "secret key"))
		})
	}
}

func TestACertificateIsServed(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	assert.NilError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(4711), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"states.example.org"}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	assert.NilError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	assert.NilError(t, err)
	server := started(t, Serving{
		Access:      access,
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		Key:         env.NewSecret(string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))),
	})
	assert.Assert(t, server.Authority() == nil)
	conn, err := new(tls.Dialer).DialContext(t.Context(), "tcp", server.listener.Addr().String())
	assert.ErrorContains(t, err, "certificate")
	assert.Assert(t, conn == nil)
	insecure := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err = insecure.DialContext(t.Context(), "tcp", server.listener.Addr().String())
	assert.NilError(t, err)
	assert.Equal(t, conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64(), int64(4711))
	assert.NilError(t, conn.Close())
}

// TestARequestThatHasBegunIsAnswered: the end of the server is no reason to lose a
// state that is on its way.
func TestARequestThatHasBegunIsAnswered(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	store := opened(t, Options{})
	server, err := Listen(ctx, store, Serving{Access: access})
	assert.NilError(t, err)
	server.last = time.Hour // however long this takes
	address := server.listener.Addr().String()
	began := make(chan struct{}, 1)
	handler := server.server.Handler
	server.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		handler.ServeHTTP(w, r)
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }()

	state := protocol.State(lineage, 1, 1)
	reader, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), "POST", server.State("web"), reader)
	assert.NilError(t, err)
	request.SetBasicAuth(user, password)
	answered := make(chan int, 1)
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	_, err = io.WriteString(writer, state[:10])
	assert.NilError(t, err)
	<-began
	stop(errors.New("enough"))
	// It stops to listen first.
	for {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			break
		}
		assert.NilError(t, conn.Close())
	}
	_, err = io.WriteString(writer, state[10:])
	assert.NilError(t, err)
	assert.NilError(t, writer.Close())
	assert.Equal(t, <-answered, http.StatusOK)
	assert.NilError(t, <-ended)
	st, err := store.read("web")
	assert.NilError(t, err)
	assert.Equal(t, string(st.text), state)
	assert.NilError(t, server.Close())
}

func TestTimeoutsAreSet(t *testing.T) {
	server, err := Listen(t.Context(), opened(t, Options{}), Serving{Access: access})
	assert.NilError(t, err)
	s := server.server
	for _, d := range []time.Duration{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout} {
		assert.Assert(t, d > 0)
	}
	assert.NilError(t, server.Close())
}
