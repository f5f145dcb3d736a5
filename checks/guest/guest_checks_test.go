//go:build checks

package guest

import (
	"bufio"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest/debian"
)

func TestGuestVM(t *testing.T)        { behaves(t, options(t, VM)) }
func TestGuestContainer(t *testing.T) { behaves(t, options(t, Container)) }

func TestGuestContainerOfAnOlderSuite(t *testing.T) {
	o := options(t, Container)
	o.Suite = debian.Bookworm
	behaves(t, o)
}

// behaves is what holds for every kind of guest.
func behaves(t *testing.T, o Options) {
	t.Helper()
	o.Forward = []int{8080}
	g := boot(t, o)

	t.Run("looks like NixOS", func(t *testing.T) {
		assert.Equal(t, sh(t, g, "hostname"), "web")
		assert.Equal(t, sh(t, g, ". /etc/os-release; echo $ID; test -e /etc/NIXOS"), "nixos")
		assert.Assert(t, strings.HasPrefix(sh(t, g, "echo $PATH"), "/run/current-system/sw/bin:"))
		assert.Equal(t, sh(t, g, "readlink -f /bin/sh"), "/usr/bin/bash")
		assert.Equal(t, sh(t, g, "mkdir -p /run/nixos && ls -d /run/nixos /nix/store /nix/var/nix/profiles | wc -l"), "3")
	})
	t.Run("systemd is up and healthy", func(t *testing.T) {
		assert.Equal(t, sh(t, g, "systemctl is-system-running --wait"), "running")
	})
	t.Run("the bus answers over ssh", func(t *testing.T) {
		out := sh(t, g, `printf '\0AUTH EXTERNAL 30\r\n' | timeout 60 systemd-stdio-bridge | head -c 2`)
		assert.Equal(t, out, "OK")
	})
	t.Run("nix builds and sets profiles as root", func(t *testing.T) {
		out := sh(t, g, `set -e
			mkdir -p /tmp/bb && cp /usr/bin/busybox /tmp/bb/
			cat > /tmp/x.nix <<'EOF'
			let bb = builtins.path { path = /tmp/bb; name = "bb"; };
			in derivation { name = "built"; system = builtins.currentSystem; builder = "${bb}/busybox"; args = [ "sh" "-c" "echo built > $out" ]; }
EOF
			path=$(nix-build --no-out-link /tmp/x.nix 2>/dev/null)
			nix-env -p /nix/var/nix/profiles/system --set "$path"
			cat /nix/var/nix/profiles/system`)
		assert.Equal(t, out, "built")
	})
	t.Run("has the tools that checks use", func(t *testing.T) {
		sh(t, g, "for tool in zstd gzip flock nix-store busybox fish; do command -v $tool || exit 1; done")
	})
	t.Run("its clock is right", func(t *testing.T) {
		before := time.Now()
		seconds, err := strconv.ParseInt(sh(t, g, "date +%s"), 10, 64)
		assert.NilError(t, err)
		now, most := time.Unix(seconds, 0), 5*time.Second
		assert.Assert(t, now.After(before.Add(-most)) && now.Before(time.Now().Add(most)), "it is %s there", now)
	})
	t.Run("keeps its keys private", func(t *testing.T) {
		info, err := os.Stat(g.access.KeyFile)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
		info, err = os.Stat(o.Dir)
		assert.NilError(t, err)
		assert.Equal(t, info.Mode().Perm(), os.FileMode(0o700))
		assert.Equal(t, sh(t, g, "stat -c %a /etc/ssh/ssh_host_ed25519_key"), "600")
	})
	t.Run("forwards a port", func(t *testing.T) { forwards(t, g) })
	t.Run("hangs without its cable and goes on with it", func(t *testing.T) { cable(t, g) })
	t.Run("reboots and keeps its files", func(t *testing.T) {
		before, err := bootID(t.Context(), g)
		assert.NilError(t, err)
		sh(t, g, "echo kept > /root/kept; sync")
		_, _ = g.access.run(t.Context(), "systemctl reboot") // the connection goes first
		waitRebooted(t, g, before)
		assert.Equal(t, sh(t, g, "cat /root/kept; hostname"), "kept\nweb")
		assert.Equal(t, sh(t, g, "systemctl is-system-running --wait"), "running")
	})
	t.Run("powers off", func(t *testing.T) {
		assert.NilError(t, g.PowerOff(t.Context()))
		assert.Assert(t, !g.engine.running(t.Context()))
	})
}

// forwards checks that a service of the guest answers at its forwarded port.
func forwards(t *testing.T, g *Guest) {
	t.Helper()
	port, ok := g.Port(8080)
	assert.Assert(t, ok)
	_, ok = g.Port(8081)
	assert.Assert(t, !ok)
	sh(t, g, "systemd-run --quiet --unit=hello systemd-socket-activate --listen=8080 --accept --inetd /bin/echo hello")
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		line, err := firstLine(t.Context(), net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if line == "hello\n" {
			return poll.Success()
		}
		return poll.Continue("port 8080 says %q: %v", line, err)
	}, poll.WithTimeout(2*time.Minute), poll.WithDelay(20*time.Millisecond))
}

func firstLine(ctx context.Context, address string) (string, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// cable checks that a connection survives a cut, and that nothing passes
// meanwhile.
func cable(t *testing.T, g *Guest) {
	t.Helper()
	client, err := g.access.dial(t.Context())
	assert.NilError(t, err)
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	assert.NilError(t, err)
	in, err := session.StdinPipe()
	assert.NilError(t, err)
	out, err := session.StdoutPipe()
	assert.NilError(t, err)
	assert.NilError(t, session.Start("cat"))
	lines := make(chan string)
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			lines <- scan.Text()
		}
		close(lines)
	}()
	say := func(text string) {
		_, err := in.Write([]byte(text + "\n"))
		assert.NilError(t, err)
	}
	hear := func(limit time.Duration) string {
		select {
		case line, ok := <-lines:
			assert.Assert(t, ok, "the connection was closed")
			return line
		case <-time.After(limit):
			return ""
		}
	}
	say("before")
	assert.Equal(t, hear(time.Minute), "before")

	assert.NilError(t, g.SetLink(t.Context(), false))
	say("cut")
	assert.Equal(t, hear(time.Second), "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = g.access.dial(ctx)
	assert.Assert(t, cmp.ErrorIs(err, context.DeadlineExceeded)) // hangs, is not refused

	assert.NilError(t, g.SetLink(t.Context(), true))
	assert.Equal(t, hear(2*time.Minute), "cut")
	sh(t, g, "true")
	assert.NilError(t, in.Close())
	assert.NilError(t, session.Wait())
}

func TestGuestsHaveNoKeyInCommon(t *testing.T) {
	o := options(t, VM)
	first := boot(t, o)
	o.Name, o.Dir = "db", o.Dir+"2"
	second := boot(t, o)
	assert.Assert(t, first.access.HostKey != second.access.HostKey)
	assert.Equal(t, sh(t, first, "hostname")+sh(t, second, "hostname"), "webdb")
	stranger := second.access
	stranger.KeyFile = first.access.KeyFile
	_, err := stranger.dial(t.Context())
	assert.ErrorContains(t, err, "unable to authenticate")
	impostor := second.access
	impostor.HostKey = first.access.HostKey
	_, err = impostor.dial(t.Context())
	assert.ErrorContains(t, err, "host key mismatch")
}

func TestGuestVMComesBackFromAPowerCut(t *testing.T) {
	o := options(t, VM)
	o.Cold = true
	g := boot(t, o)
	before, err := bootID(t.Context(), g)
	assert.NilError(t, err)
	sh(t, g, "echo kept > /root/kept; sync; echo lost > /root/lost")
	assert.NilError(t, g.PowerCycle(t.Context()))
	after, err := bootID(t.Context(), g)
	assert.NilError(t, err)
	assert.Assert(t, after != before)
	assert.Equal(t, sh(t, g, "cat /root/kept; test -s /root/lost || echo gone"), "kept\ngone")
}

func TestGuestVMInAFolderWithALongName(t *testing.T) {
	o := options(t, VM)
	o.Dir = filepath.Join(o.Dir, strings.Repeat("long, with 'quotes' ", 8))
	g := boot(t, o)
	assert.Equal(t, sh(t, g, "hostname"), "web")
	// What would be said of it if it did not answer.
	posture := g.engine.(*vm).posture(t.Context())
	assert.Check(t, cmp.Contains(posture, `the machine is "running"`))
	assert.Check(t, cmp.Contains(posture, "RIP="))
}

func TestGuestContainerHasNoPowerOfItsOwn(t *testing.T) {
	g := boot(t, options(t, Container))
	assert.ErrorContains(t, g.PowerCycle(t.Context()), "power cycle web, a container: unsupported operation")
}
