package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/guest/debian"
	"fediversity.eu/slipway/checks/guest/guardian"
	"fediversity.eu/slipway/checks/guest/netns"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

// container is a systemd-nspawn container with its guardian and the forwarders
// that lead into it.
type container struct {
	process  *guardian.Process
	wire     *netns.Space
	forwards []*forward
	groups   []string // its control groups
}

// guestAddress is what every guest has at its only network card.
const guestAddress = "10.0.2.15"

func bootContainer(ctx context.Context, o Options) (*Guest, error) {
	s, release, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	g := &Guest{kind: Container, name: o.Name, dir: o.Dir, ports: map[int]int{}, release: release}
	c, err := g.enter(ctx, o, s)
	if err != nil {
		err = withConsole(err, o.Dir)
		if c != nil {
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
			err = errors.Join(err, c.kill(ending), c.close())
			cancel()
		}
		release()
		return nil, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	took(o.Log, o.Name+" is up (container)", started)
	return g, nil
}

// enter starts the container and waits for its sshd. The container is returned
// with an error too, if it has to be ended.
func (g *Guest) enter(ctx context.Context, o Options, s stock) (*container, error) {
	id, err := newIdentity(o.Name)
	if err != nil {
		return nil, err
	}
	if g.access, err = id.store(o.Dir); err != nil {
		return nil, err
	}
	archive, err := id.archive()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(o.Dir, identityFile), archive, 0o600); err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	hierarchies := cgroupMounts(string(mounts))
	if len(hierarchies) == 0 {
		return nil, errors.New("no cgroup2 file system is mounted")
	}
	group := "slipway-guest-" + newUUID()
	argv := append([]string{
		"unshare", "--mount", "--net", "--", "sh", "-c", guardContainer, "guardian",
		filepath.Join(s.base, debian.Root), strconv.Itoa(o.DiskMiB), o.Name, group, o.Nested,
	}, hierarchies...)
	c := &container{}
	for _, hierarchy := range hierarchies {
		c.groups = append(c.groups, filepath.Join(hierarchy, group))
	}
	if c.process, err = guardian.Start(ctx, o.Dir, environment(), argv...); err != nil {
		return nil, err
	}
	g.engine = c
	if c.wire, err = c.findWire(ctx, o.Dir); err != nil {
		return c, err
	}
	for _, port := range append([]int{sshPort}, o.Forward...) {
		f, err := newForward(ctx, c.wire, port)
		if err != nil {
			return c, err
		}
		c.forwards = append(c.forwards, f)
		g.ports[port] = f.port()
	}
	g.access.Port = g.ports[sshPort]
	return c, ready(ctx, g.name, g.access, readyLimit, c.process.Alive)
}

// findWire opens the network name space of the guardian, when that has got
// there.
func (c *container) findWire(ctx context.Context, dir string) (*netns.Space, error) {
	var wire *netns.Space
	there := wait.For{What: "the container's guardian", Limit: time.Minute, Interval: 5 * time.Millisecond}
	err := there.Until(ctx, func(context.Context) error {
		if err := c.process.Alive(); err != nil {
			return wait.Stop(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, guardianFile))
		if err != nil {
			return err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			return err // half written
		}
		wire, err = netns.Open(pid)
		return err
	})
	return wire, err
}

func (c *container) running(context.Context) bool { return c.process.Alive() == nil }

// setLink sets the far end, so that the guest sees a card without a carrier.
func (c *container) setLink(ctx context.Context, up bool) error {
	state := "down"
	if up {
		state = "up"
	}
	return c.wire.Do(func() error {
		return child.Command{Path: "ip", Args: []string{"link", "set", "dev", "wire", state}, Env: environment()}.Run(ctx)
	})
}

func (c *container) kill(ctx context.Context) error { return c.process.End(ctx) }

// close ends the forwarders. Control groups are the guardian's to remove; those
// that are left belong to one that was killed itself.
func (c *container) close() error {
	for _, f := range c.forwards {
		f.close()
	}
	if c.wire != nil {
		c.wire.Close()
	}
	// The processes of a guest whose guardian was killed are told to die by what
	// that left behind, and take a moment.
	empty := wait.For{What: "the control groups of the guest to be empty", Limit: time.Minute, Interval: 20 * time.Millisecond}
	return empty.Until(context.Background(), func(context.Context) error { //nolint:contextcheck // cleaning up is bounded by itself
		var errs []error
		for _, group := range c.groups {
			errs = append(errs, removeGroup(group))
		}
		return errors.Join(errs...)
	})
}

// removeGroup removes a control group with all below it, deepest first.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() {
			errs = append(errs, removeGroup(filepath.Join(dir, entry.Name())))
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// cgroupMounts finds in /proc/mounts the hierarchies that systemd needs: cgroup2
// wherever it is, and systemd's own of version 1 where that still exists.
func cgroupMounts(mounts string) []string {
	var found []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		kind, options := fields[2], ","+fields[3]+","
		if kind == "cgroup2" || kind == "cgroup" && strings.Contains(options, ",name=systemd,") {
			found = append(found, fields[1])
		}
	}
	return found
}
