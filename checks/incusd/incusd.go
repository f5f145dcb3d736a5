// Package incusd runs a real Incus daemon for tests: Debian's, unpacked and not
// installed, in name spaces of its own. It listens on a loopback that only it and who
// is let in share, reaches nothing else, and ends with the test's process, with all
// that it runs.
//
// Its containers are real and unprivileged. It has no virtual machines: they take
// vhost_vsock and KVM of the host.
package incusd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	_ "embed"

	"fediversity.eu/slipway/checks/guest/guardian"
	"fediversity.eu/slipway/checks/guest/netns"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

//go:embed guardian.sh
var guardianScript string

//go:embed daemon.sh
var daemonScript string

//go:embed preseed.yaml
var preseed []byte

// Options describe a daemon.
type Options struct {
	Dir   string    // its own folder, made with mode 0700
	Cache string    // kept between runs and shared
	Log   io.Writer // progress for a person
	Admin []byte    // certificate in PEM of who may do everything
}

// Address is where a daemon listens, in its own network.
const Address = "https://127.0.0.1:8443"

// Network, Pool: what a daemon has to make machines with.
const (
	Network = "incusbr0"
	Pool    = "default"
)

// Daemon is a running Incus.
type Daemon struct {
	Certificate []byte // its own, in PEM
	dir         string
	process     *guardian.Process
	space       *netns.Space
	pid         int
	group       string // its control group
}

// startLimit bounds how long a daemon may take to be ready.
const startLimit = 5 * time.Minute

// Boot starts a daemon with a storage pool and a network.
func Boot(ctx context.Context, o Options) (*Daemon, error) {
	tree, err := Tree(ctx, o.Cache, o.Log)
	if err != nil {
		return nil, fmt.Errorf("prepare Incus: %w", err)
	}
	share := filepath.Join(o.Dir, "share")
	if err := os.MkdirAll(share, 0o700); err != nil {
		return nil, err
	}
	for name, text := range map[string][]byte{"daemon.sh": []byte(daemonScript), "preseed.yaml": preseed, "admin.crt": o.Admin} {
		if err := os.WriteFile(filepath.Join(share, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	hierarchy, err := hierarchy()
	if err != nil {
		return nil, err
	}
	name := "slipway-incus-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	d := &Daemon{dir: o.Dir, group: filepath.Join(hierarchy, name)}
	d.process, err = guardian.Start(ctx, o.Dir, environment(),
		"unshare", "--mount", "--net", "--", "sh", "-c", guardianScript, "guardian", tree, name, hierarchy)
	if err != nil {
		return nil, err
	}
	if err := d.ready(ctx, share); err != nil {
		return nil, errors.Join(fmt.Errorf("start Incus: %w\n%s", err, d.Log()), d.Close())
	}
	return d, nil
}

// ready waits until the daemon is set up.
func (d *Daemon) ready(ctx context.Context, share string) error {
	up := wait.For{What: "Incus", Limit: startLimit, Interval: 50 * time.Millisecond}
	err := up.Until(ctx, func(context.Context) error {
		if err := d.process.Alive(); err != nil {
			return wait.Stop(err)
		}
		_, err := os.Stat(filepath.Join(share, "ready"))
		return err
	})
	if err != nil {
		return err
	}
	if d.Certificate, err = os.ReadFile(filepath.Join(share, "server.crt")); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(d.dir, "guardian.pid"))
	if err != nil {
		return err
	}
	if d.pid, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
		return err
	}
	d.space, err = netns.Open(d.pid)
	return err
}

// Inside calls f on a thread in the daemon's network: sockets that it makes and
// children that it starts live there.
func (d *Daemon) Inside(f func() error) error { return d.space.Do(f) }

// Dial connects within the daemon's network.
func (d *Daemon) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := d.space.Do(func() error {
		var dialer net.Dialer
		var err error
		conn, err = dialer.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Enter is what comes before a command for it to run in the daemon's network.
func (d *Daemon) Enter() []string {
	return []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", d.pid), "--"}
}

// Log is what the daemon said.
func (d *Daemon) Log() string {
	text, _ := os.ReadFile(filepath.Join(d.dir, "machine.log"))
	return string(text)
}

// closeLimit bounds Close.
const closeLimit = 3 * time.Minute

// Close ends the daemon with all that it runs.
func (d *Daemon) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeLimit, errors.New("the daemon did not end"))
	defer cancel()
	err := d.process.End(ctx)
	if d.space != nil {
		d.space.Close()
	}
	if _, left := os.Stat(d.group); left == nil {
		err = errors.Join(err, fmt.Errorf("its control group is left: %s", d.group))
	}
	return err
}

// hierarchy is where version 2 of control groups is mounted.
func hierarchy() (string, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "cgroup2" {
			return fields[1], nil
		}
	}
	return "", errors.New("no cgroup2 file system is mounted")
}

// environment is all that the daemon's tools are told.
func environment() []string {
	return []string{"HOME=/", "LC_ALL=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
}

// Missing tells what this host lacks to run a daemon; empty means nothing.
func Missing() string {
	if os.Geteuid() != 0 {
		return "root, for an Incus daemon"
	}
	if _, err := hierarchy(); err != nil {
		return "cgroup2, for an Incus daemon"
	}
	for _, tool := range []string{"unshare", "nsenter", "ip", "mount", "dpkg-deb", "apt-get"} {
		if _, err := child.Find(tool, environment()); err != nil {
			return tool
		}
	}
	return ""
}
