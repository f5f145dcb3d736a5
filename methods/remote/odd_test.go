package remote

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func classOf(t *testing.T, err error) (Class, string) {
	t.Helper()
	var e *Error
	assert.Assert(t, errors.As(err, &e), "%T: %v", err, err)
	return e.Class, e.Hint
}

func TestHostKeyVerdicts(t *testing.T) {
	t.Parallel()
	edKey, _ := userKey(t)
	other, _ := userKey(t)
	rsa, ecdsa := rsaKey(t), ecdsaKey(t)
	both := startOddServer(t, nil, edKey, rsa)
	onlyRSA := startOddServer(t, nil, rsa)
	line := func(key ssh.Signer) string {
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key.PublicKey())))
	}
	fingerprint := func(key ssh.Signer) string { return ssh.FingerprintSHA256(key.PublicKey()) }

	cases := map[string]struct {
		server *oddServer
		lines  []string
		class  Class // 0: accepted
		text   []string
		hint   string
	}{
		"the one declared":                     {both, []string{line(edKey) + " root@web"}, 0, nil, ""},
		"one of several declared":              {both, []string{line(other), line(edKey)}, 0, nil, ""},
		"only the second of the server's keys": {both, []string{line(rsa)}, 0, nil, ""},
		"RSA, signed with SHA-2":               {onlyRSA, []string{line(edKey), line(rsa)}, 0, nil, ""},
		"several lines in one text":            {both, []string{"# keys\n" + line(rsa) + "\n\n" + line(edKey) + "\n"}, 0, nil, ""},
		"nothing declared": {
			both, nil, HostKeyUnknown,
			[]string{"host key unknown: it shows ssh-ed25519 " + fingerprint(edKey), "none is declared for this host"},
			"ssh_host_ed25519_key.pub), then declare: " + line(edKey),
		},
		"only other hosts declared": {both, []string{"elsewhere.example " + line(edKey)}, HostKeyUnknown, nil, line(edKey)},
		"changed": {
			both,
			[]string{line(other)},
			HostKeyChanged,
			[]string{"host key changed: it shows ssh-ed25519 " + fingerprint(edKey), "declared is ssh-ed25519 " + fingerprint(other)},
			line(edKey),
		},
		"another type": {
			both,
			[]string{line(ecdsa)},
			HostKeyWrongType,
			[]string{"it shows ssh-ed25519 " + fingerprint(edKey), "declared is only ecdsa-sha2-nistp256 " + fingerprint(ecdsa)},
			line(edKey),
		},
		"another type, RSA": {
			onlyRSA,
			[]string{line(edKey)},
			HostKeyWrongType,
			[]string{"it shows ssh-rsa " + fingerprint(rsa)},
			"ssh_host_rsa_key.pub",
		},
		"revoked": {
			onlyRSA,
			[]string{"@revoked * " + line(rsa), line(rsa)},
			HostKeyRevoked,
			[]string{"host key revoked: it shows ssh-rsa " + fingerprint(rsa)},
			"never trust",
		},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			target := test.server.target()
			target.HostKeys = test.lines
			c, err := Dial(t.Context(), target)
			if test.class == 0 {
				assert.NilError(t, err)
				assert.NilError(t, c.Close())
				return
			}
			class, hint := classOf(t, err)
			assert.Equal(t, class, test.class)
			for _, text := range test.text {
				assert.ErrorContains(t, err, text)
			}
			assert.ErrorContains(t, err, "reach someone@"+test.server.hop.Address()+": ")
			assert.Assert(t, cmp.Contains(hint, test.hint))
		})
	}
}

func TestNetworkVerdicts(t *testing.T) {
	t.Parallel()
	key, _ := userKey(t)
	host := []string{string(ssh.MarshalAuthorizedKey(key.PublicKey()))}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer func() { assert.NilError(t, mute.Close()) }()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	assert.NilError(t, closed.Close())
	chatty, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	defer func() { assert.NilError(t, chatty.Close()) }()
	go func() {
		for {
			conn, err := chatty.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	port := func(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

	cases := map[string]struct {
		host  string
		port  int
		class Class
		text  string
	}{
		"no such name":     {"not..a.name", 22, Unresolved, "name not resolved: "},
		"port closed":      {"127.0.0.1", port(closed), ConnectionRefused, "connection refused: "},
		"hangs":            {"127.0.0.1", port(mute), Unreachable, "no answer after 200ms, while waiting for the ssh handshake (the port is open)"},
		"another protocol": {"127.0.0.1", port(chatty), HandshakeFailed, `answers with "HTTP/1.1 400 Bad Request", which is no ssh`},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			started := time.Now()
			_, err := Dial(t.Context(), Target{
				Host: test.host, Port: test.port, HostKeys: host, Keys: []ssh.Signer{key}, ConnectTimeout: 200 * time.Millisecond,
			})
			class, _ := classOf(t, err)
			assert.Equal(t, class, test.class, "%v", err)
			assert.ErrorContains(t, err, test.text)
			assert.Assert(t, time.Since(started) < 2*time.Second)
		})
	}

	t.Run("the caller's own end is no verdict on the host", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("run interrupted"))
		defer cancel()
		_, err := Dial(ctx, Target{Host: "127.0.0.1", Port: port(mute), HostKeys: host, Keys: []ssh.Signer{key}})
		assert.ErrorContains(t, err, "run interrupted")
		class, _ := classOf(t, err)
		assert.Equal(t, class, Class(0))
	})
}

func TestLoginRefused(t *testing.T) {
	t.Parallel()
	host, _ := userKey(t)
	s := startOddServer(t, nil, host)
	strangers := make([]ssh.Signer, 6)
	for i := range strangers {
		strangers[i], _ = userKey(t)
	}
	cases := map[string]struct {
		keys       []ssh.Signer
		text, hint string
	}{
		"wrong key": {
			strangers[:1], "login of someone refused: offered ssh-ed25519 " + ssh.FingerprintSHA256(strangers[0].PublicKey()),
			"authorized keys of someone",
		},
		"no key":        {nil, "login of someone refused: there was no key to offer", "give a private key"},
		"too many keys": {strangers, "offered ssh-ed25519 ", "MaxAuthTries"},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			target := s.target(host.PublicKey())
			target.Keys = test.keys
			_, err := Dial(t.Context(), target)
			class, hint := classOf(t, err)
			assert.Equal(t, class, Unauthenticated, "%v", err)
			assert.ErrorContains(t, err, test.text)
			assert.Assert(t, cmp.Contains(hint, test.hint))
		})
	}
}

func TestOddSessions(t *testing.T) {
	t.Parallel()
	host, _ := userKey(t)
	// accept grants every request until the session is to be ended.
	accept := func(requests <-chan *ssh.Request) {
		for r := range requests {
			if r.WantReply {
				_ = r.Reply(true, nil)
			}
			if r.Type == "exec" {
				return
			}
		}
	}
	cases := map[string]struct {
		session func(ssh.Channel, <-chan *ssh.Request)
		class   Class
		text    string
	}{
		"none allowed": {nil, SessionRefused, "session refused: "},
		"no commands allowed": {
			func(_ ssh.Channel, requests <-chan *ssh.Request) {
				for r := range requests {
					_ = r.Reply(false, nil)
				}
			}, ShellRefused, "does not let this login run commands",
		},
		"success without a start": {
			func(c ssh.Channel, requests <-chan *ssh.Request) {
				accept(requests)
				_, _ = c.Write([]byte("Welcome!\n"))
				exit(c, 0)
			}, ShellRefused, `it said "Welcome!" and ended with exit status 0`,
		},
		"session closed without a status": {
			func(c ssh.Channel, requests <-chan *ssh.Request) {
				accept(requests)
				_ = c.Close()
			}, Lost, "contact lost: the session ended without an exit status",
		},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			s := startOddServer(t, test.session, host)
			c, err := Dial(t.Context(), s.target(host.PublicKey()))
			assert.NilError(t, err)
			defer func() { assert.NilError(t, c.Close()) }()
			_, err = c.Output(t.Context(), "true")
			class, _ := classOf(t, err)
			assert.Equal(t, class, test.class, "%v", err)
			assert.Equal(t, errors.Is(err, ErrLost), test.class == Lost)
			assert.ErrorContains(t, err, test.text)
		})
	}

	t.Run("a shell that hangs before the command", func(t *testing.T) {
		signal := make(chan string, 1)
		s := startOddServer(t, func(c ssh.Channel, requests <-chan *ssh.Request) {
			accept(requests)
			for r := range requests {
				if r.Type == "signal" {
					signal <- string(r.Payload[4:])
					exit(c, 143)
				}
			}
		}, host)
		c, err := Dial(t.Context(), s.target(host.PublicKey()))
		assert.NilError(t, err)
		defer func() { assert.NilError(t, c.Close()) }()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = c.Output(ctx, "true")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, <-signal, "TERM")
	})
}
