package remote

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// service listens on a port of its own and gives each caller to serve, for as long as
// the caller stays.
func service(t *testing.T, serve func(net.Conn)) Target {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	assert.NilError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return Target{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}
}

// says is a service that says something at first, and then no more.
func says(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

func TestAnotherServiceAnswers(t *testing.T) {
	t.Parallel()
	key, _ := userKey(t)
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	mail := func(conn net.Conn) {
		_, _ = io.WriteString(conn, "220 mail.example.org ESMTP ready\r\n")
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			_, _ = io.WriteString(conn, "502 5.5.2 Error: command not recognized\r\n")
		}
	}
	for what, test := range map[string]struct {
		target Target
		text   string
	}{
		"HTTP":         {Target{Host: "127.0.0.1", Port: web.Listener.Addr().(*net.TCPAddr).Port}, `answers with "HTTP/1.1 400 Bad Request", which is no ssh`},
		"SMTP":         {service(t, mail), `answers with "220 mail.example.org ESMTP ready", which is no ssh`},
		"POP3":         {service(t, says("+OK ready\r\n")), `answers with "+OK ready"`},
		"IMAP":         {service(t, says("* OK [CAPABILITY IMAP4rev1] ready\r\n")), `answers with "* OK [CAPABILITY IMAP4rev1] ready"`},
		"MySQL":        {service(t, says("J\x00\x00\x00\x0a8.0.36\x00")), `answers with "J\x00`},
		"a terminal":   {service(t, says("\xff\xfd\x18login: ")), `answers with "\xff", which is no ssh`},
		"other words":  {service(t, says("welcome to the game\n> ")), `answers with "welcome to the game", which is no ssh`},
		"many words":   {service(t, says(strings.Repeat("la", 900))), `answers with "lalala`},
		"line by line": {service(t, says(strings.Repeat("la la la\n", 200))), `answers with "la la la"`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			test.target.Keys, test.target.ConnectTimeout = []ssh.Signer{key}, time.Hour
			_, err := Dial(t.Context(), test.target)
			class, hint := classOf(t, err)
			assert.Equal(t, class, HandshakeFailed, "%v", err)
			assert.ErrorContains(t, err, "reach root@127.0.0.1:")
			assert.ErrorContains(t, err, test.text)
			assert.Assert(t, len(err.Error()) < 200 && !strings.ContainsAny(err.Error(), "\n\x00"), "%q", err)
			assert.Assert(t, cmp.Contains(hint, "another service listens there"))
		})
	}
}

func TestNothingIsSaid(t *testing.T) {
	t.Parallel()
	key, _ := userKey(t)
	t.Run("and the connection stays", func(t *testing.T) {
		t.Parallel()
		target := service(t, says(""))
		target.Keys, target.ConnectTimeout = []ssh.Signer{key}, 200*time.Millisecond
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, Unreachable)
		assert.Assert(t, cmp.Contains(hint, "accepts the connection and says nothing"))
	})
	t.Run("and the connection is closed", func(t *testing.T) {
		t.Parallel()
		target := service(t, func(net.Conn) {})
		target.Keys = []ssh.Signer{key}
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, HandshakeFailed)
		assert.ErrorContains(t, err, "closed the connection before it said anything")
		assert.Assert(t, cmp.Contains(hint, "MaxStartups"))
	})
	t.Run("after a version", func(t *testing.T) {
		t.Parallel()
		target := service(t, says("SSH-2.0-stuck\r\n"))
		target.Keys, target.ConnectTimeout = []ssh.Signer{key}, 200*time.Millisecond
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, Unreachable)
		assert.Equal(t, hint, "")
	})
}

// TestWordsBeforeTheVersion has what a server may say first (RFC 4253, 4.2).
func TestWordsBeforeTheVersion(t *testing.T) {
	t.Parallel()
	for text, strange := range map[string]bool{
		"SSH-2.0-OpenSSH_9.2p1\r\n":                  false,
		"Welcome\r\nto this host\r\nSSH-2.0-x\r\n":   false,
		"2001 was a year\nSSH-1.99-x\n":              false,
		"\x1b[1mBeware\x1b[0m, grüße\nSSH-2.0-x\r\n": false,
		"SSH":                          false,
		"220 ready\r\nSSH-2.0-x\r\n":   true,
		"HTTP/1.1 400 Bad Request\r\n": true,
		"\x15\x03\x01":                 true,
	} {
		var g greeting
		var err error
		for i := range len(text) {
			if err = g.hear([]byte{text[i]}, func() {}); err != nil {
				break
			}
		}
		g.still()
		assert.Equal(t, errors.As(err, new(*strangerError)), strange, "%q", text)
	}
}

func TestAServerThatSaysMoreThanItsVersion(t *testing.T) {
	t.Parallel()
	host, _ := userKey(t)
	s := startOddServer(t, nil, host)
	behind := s.hop.Address()
	target := service(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "This is a proxy.\r\nBe welcome.\r\n")
		server, err := net.Dial("tcp", behind)
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		go func() { _, _ = io.Copy(server, conn); _ = server.Close() }()
		_, _ = io.Copy(conn, server)
	})
	direct := s.target(host.PublicKey())
	target.User, target.Keys, target.HostKeys = direct.User, direct.Keys, direct.HostKeys
	c, err := Dial(t.Context(), target)
	assert.NilError(t, err)
	assert.NilError(t, c.Close())
}

// TestTurnedAway has sshd itself take nobody in, and the words that newer ones have for
// another reason.
func TestTurnedAway(t *testing.T) {
	t.Parallel()
	key, _ := userKey(t)
	refused := func(t *testing.T, target Target, words string) {
		t.Helper()
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, HandshakeFailed)
		assert.ErrorContains(t, err, `sshd turns the connection away: "`+words+`"`)
		assert.Assert(t, cmp.Contains(hint, "try again in a while"))
	}
	t.Run("by OpenSSH, with too many logins under way", func(t *testing.T) {
		t.Parallel()
		s := startSSHD(t, "127.0.0.1", "MaxStartups 1")
		waiting, err := net.Dial("tcp", s.hop("root").Address())
		assert.NilError(t, err)
		defer func() { _ = waiting.Close() }()
		_, err = bufio.NewReader(waiting).ReadString('\n') // it counts from here on
		assert.NilError(t, err)
		refused(t, s.target("root"), "Exceeded MaxStartups")
	})
	t.Run("after logins that failed", func(t *testing.T) {
		t.Parallel()
		target := service(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "Not allowed at this time\r\n") })
		target.Keys = []ssh.Signer{key}
		refused(t, target, "Not allowed at this time")
	})
}
