package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestJumpHosts(t *testing.T) {
	t.Parallel()
	gate := startSSHD(t, "127.0.0.1")
	web := startSSHD(t, "127.0.0.1")
	shut := startSSHD(t, "127.0.0.1", "AllowTcpForwarding no")
	through := func(hops ...Hop) Target {
		target := web.target("root")
		target.Keys = []ssh.Signer{web.signer, gate.signer, shut.signer}
		target.Jumps = hops
		return target
	}

	t.Run("two hops, each with its own key", func(t *testing.T) {
		c, err := Dial(t.Context(), through(gate.hop("plain"), web.hop("bashy")))
		assert.NilError(t, err)
		defer func() { assert.NilError(t, c.Close()) }()
		out, err := c.Output(t.Context(), "id -un; echo $SSH_CONNECTION")
		assert.NilError(t, err)
		assert.Assert(t, cmp.Regexp(`^root\n127\.0\.0\.1 \d+ 127\.0\.0\.1 \d+\n$`, string(out)))

		conn, err := c.DialContext(t.Context(), "tcp", gate.hop("").Address())
		assert.NilError(t, err)
		greeting := make([]byte, 8)
		_, err = io.ReadFull(conn, greeting)
		assert.NilError(t, err)
		assert.Equal(t, string(greeting), "SSH-2.0-")
		assert.NilError(t, conn.Close())

		_, err = c.DialContext(t.Context(), "tcp", "127.0.0.1:1")
		class, _ := classOf(t, err)
		assert.Equal(t, class, ConnectionRefused)
		assert.ErrorContains(t, err, "connect to 127.0.0.1:1 through root@"+web.hop("").Address())
	})

	stranger := gate.hop("plain")
	stranger.HostKeys = web.hop("").HostKeys
	lost := gate.hop("plain")
	lost.User = "nosuchuser"
	gone := through(gate.hop("plain"))
	gone.Port = 1
	nameless := through(gate.hop("plain"))
	nameless.Host = "not..a.name"
	nobody := through(gate.hop("plain"))
	nobody.User = "nosuchuser"
	cases := map[string]struct {
		target Target
		class  Class
		where  string
		barred bool
	}{
		"the jump's key":          {through(stranger), HostKeyChanged, "plain@" + gate.hop("").Address(), true},
		"the jump's login":        {through(lost), Unauthenticated, "nosuchuser@" + gate.hop("").Address(), true},
		"forwarding not allowed":  {through(shut.hop("plain")), ForwardRefused, "root@" + web.hop("").Address(), true},
		"port closed behind":      {gone, ConnectionRefused, "root@127.0.0.1:1", false},
		"no such name behind":     {nameless, Unresolved, "root@not..a.name", false},
		"the machine's own login": {nobody, Unauthenticated, "nosuchuser@" + web.hop("").Address(), false},
	}
	for what, test := range cases {
		t.Run(what, func(t *testing.T) {
			_, err := Dial(t.Context(), test.target)
			class, _ := classOf(t, err)
			assert.Equal(t, class, test.class, "%v", err)
			assert.ErrorContains(t, err, "reach "+test.where)
			assert.Equal(t, test.target.BarredOnTheWay(fmt.Errorf("wrapped: %w", err)), test.barred)
		})
	}
}

func TestIPv6(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "::1")
	for _, host := range []string{"::1", "[::1]"} {
		target := s.target("root")
		target.Host = host
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		out, err := c.Output(t.Context(), `echo "${SSH_CONNECTION%% *}"`)
		assert.NilError(t, err)
		assert.Equal(t, string(out), "::1\n")
		assert.Assert(t, strings.HasPrefix(c.String(), "root@[::1]:"))
		assert.NilError(t, c.Close())
	}
}

func TestMaxSessions(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "127.0.0.1", "MaxSessions 2")
	c := s.dial(t, "root")
	results := make(chan error, 9)
	for range cap(results) {
		go func() { results <- c.Run(t.Context(), Command{Script: "cat", Stdin: strings.NewReader("x")}) }()
	}
	for range cap(results) {
		assert.NilError(t, <-results)
	}

	none := startSSHD(t, "127.0.0.1", "MaxSessions 0").dial(t, "root")
	_, err := none.Output(t.Context(), "true")
	class, hint := classOf(t, err)
	assert.Equal(t, class, SessionRefused)
	assert.Assert(t, cmp.Contains(hint, "MaxSessions"))
}

// TestNeededSessions has servers that allow too few sessions, and the least and the usual
// number of those that allow enough.
func TestNeededSessions(t *testing.T) {
	t.Parallel()
	const needed = 4
	for allowed := range 11 {
		if allowed > needed && allowed < 10 {
			continue
		}
		t.Run(strconv.Itoa(allowed), func(t *testing.T) {
			t.Parallel()
			c := startSSHD(t, "127.0.0.1", "MaxSessions "+strconv.Itoa(allowed)).dial(t, "root")
			err := c.Need(t.Context(), needed)
			if allowed < needed {
				class, hint := classOf(t, err)
				assert.Equal(t, class, SessionRefused)
				assert.ErrorContains(t, err, fmt.Sprintf("the server allows %d at once over one connection, and 4 are needed", allowed))
				assert.Assert(t, cmp.Contains(hint, "set MaxSessions to 4 or more in its sshd_config"))
				return
			}
			assert.NilError(t, err)
			// All of them are free again, and can be had at once.
			together, all := make(chan struct{}), make(chan error, needed)
			var begun sync.WaitGroup
			begun.Add(needed)
			for range needed {
				reader, writer := io.Pipe()
				go func() {
					all <- c.Run(t.Context(), Command{Script: "echo here; read -r x; exit 0", Stdin: reader, Stdout: &notify{done: begun.Done}})
				}()
				go func() { <-together; _ = writer.Close() }()
			}
			begun.Wait()
			close(together)
			for range needed {
				assert.NilError(t, <-all)
			}
		})
	}
}

// notify calls done at the first write.
type notify struct {
	once sync.Once
	done func()
}

func (n *notify) Write(p []byte) (int, error) {
	n.once.Do(n.done)
	return len(p), nil
}

func TestAgent(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "127.0.0.1")
	_, private := userKey(t)
	stranger, err := ssh.ParseRawPrivateKey(private)
	assert.NilError(t, err)

	t.Run("its keys are offered", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket, target.Keys = startAgent(t, s.raw, stranger), nil
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		assert.Equal(t, len(c.Notes()), 0)
		assert.NilError(t, c.Close())
	})

	t.Run("at a path that is longer than a socket's address", func(t *testing.T) {
		target := s.target("root")
		far := filepath.Join(t.TempDir(), strings.Repeat("d", 110))
		assert.NilError(t, os.Mkdir(far, 0o700))
		target.AgentSocket, target.Keys = filepath.Join(far, "agent"), nil
		assert.NilError(t, os.Rename(startAgent(t, s.raw), target.AgentSocket))
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		assert.NilError(t, c.Close())
	})

	t.Run("the declared one of many comes first", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket, target.Keys = startAgent(t, append(strangers(t, 8), s.raw)...), nil
		_, err := Dial(t.Context(), target)
		class, _ := classOf(t, err)
		assert.Equal(t, class, Unauthenticated, "the server has not stopped after too many keys")
		target.AgentKey = s.signer.PublicKey()
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		assert.Equal(t, len(c.Notes()), 0)
		assert.NilError(t, c.Close())
	})

	t.Run("the declared one is not in it", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket, target.Keys = startAgent(t, strangers(t, 1)...), nil
		declared, _ := userKey(t)
		target.AgentKey = declared.PublicKey()
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, Unauthenticated)
		assert.ErrorContains(t, err, "does not hold the declared key, ssh-ed25519 "+ssh.FingerprintSHA256(declared.PublicKey())+", which has a passphrase")
		assert.Assert(t, cmp.Contains(hint, "ssh-add"))

		target.AgentSocket = startAgent(t, s.raw)
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err, "another key of the agent's may do")
		assert.Equal(t, len(c.Notes()), 1)
		assert.NilError(t, c.Close())
	})

	dead := filepath.Join(t.TempDir(), "dead")
	t.Run("dead, and nothing else to offer", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket, target.Keys = dead, nil
		_, err := Dial(t.Context(), target)
		class, hint := classOf(t, err)
		assert.Equal(t, class, Unauthenticated)
		assert.ErrorContains(t, err, "ask ssh-agent "+dead+": ")
		assert.Assert(t, cmp.Contains(hint, "start the agent"))
	})

	t.Run("dead, but there are keys", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket = dead
		c, err := Dial(t.Context(), target)
		assert.NilError(t, err)
		assert.Equal(t, len(c.Notes()), 1)
		assert.Assert(t, cmp.Contains(c.Notes()[0], dead))
		assert.NilError(t, c.Close())
	})

	t.Run("without keys", func(t *testing.T) {
		target := s.target("root")
		target.AgentSocket, target.Keys = startAgent(t), nil
		_, err := Dial(t.Context(), target)
		class, _ := classOf(t, err)
		assert.Equal(t, class, Unauthenticated)
		assert.ErrorContains(t, err, "there was no key to offer; ssh-agent "+target.AgentSocket+" holds no keys")
	})
}

// strangers are keys that nobody lets in.
func strangers(t *testing.T, count int) []any {
	t.Helper()
	var keys []any
	for range count {
		_, text := userKey(t)
		key, err := ssh.ParseRawPrivateKey(text)
		assert.NilError(t, err)
		keys = append(keys, key)
	}
	return keys
}

// startAgent serves keys on a socket and returns its path.
func startAgent(t *testing.T, keys ...any) string {
	t.Helper()
	ring := agent.NewKeyring()
	for _, key := range keys {
		assert.NilError(t, ring.Add(agent.AddedKey{PrivateKey: key}))
	}
	path := filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", path)
	assert.NilError(t, err)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				if err := agent.ServeAgent(ring, conn); err != nil && !errors.Is(err, io.EOF) {
					t.Error(err)
				}
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return path
}
