// Package guest gives real test machines: systemd, sshd and Nix in the shape of
// NixOS, built from Debian's packages.
//
// One root file system makes two kinds. A VM is a QEMU machine with a kernel of
// its own, restored within seconds from a template that was saved while it
// waited to be told who it is. A Container is systemd-nspawn in name spaces of
// its own, up in about a second, with the host's kernel. Both are reached the
// same way: root by key, at a port of 127.0.0.1, with a host key that no other
// guest has. Neither reaches anything but its caller.
//
//	g, err := guest.Boot(ctx, guest.Options{Kind: guest.VM, Name: "web", Dir: dir, Cache: cache})
//	defer g.Close()
//	g.Access() // host, port, host key, file of the private key
//
// A container may have containers of its own, of an Incus that lies in its root file
// system too (Options.Nested).
//
// What Boot started dies with the calling process, however that ends. What
// Start started stays, and Find finds it again.
//
// It boots as NixOS does: a record in /boot/loader/default names the system that
// starts by default, and the init of that system activates it and starts
// systemd. A new guest has no record and starts as it is.
//
// The first use of a cache downloads about 100 MB; Missing tells what a host
// lacks. What a guest is not: it has no udev, a logind only when somebody asks
// for it, a volatile journal, and, if it came from a template, a machine ID and
// boot ID in common with others.
package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/checks/guest/debian"
)

// Kind is how a guest is made.
type Kind string

// The kinds.
const (
	VM        Kind = "vm"        // QEMU with a kernel of its own
	Container Kind = "container" // systemd-nspawn; needs root
)

// Options describe a guest. Kind, Name, Dir and Cache are needed.
type Options struct {
	Kind      Kind
	Name      string       // its host name
	Suite     debian.Suite // what it is made of; empty means debian.Trixie
	Dir       string       // its own folder, made with mode 0700: disk, key, sockets, console
	Cache     string       // kept between runs and shared: root file system, images, templates
	Forward   []int        // guest TCP ports besides 22 that get a port of 127.0.0.1
	MemoryMiB int          // of a VM; 0 means 1024
	DiskMiB   int          // size of its file system; 0 means 4096
	Nested    string       // container of Trixie: a tree with Incus that it has too, to run containers of its own; empty means none
	Cold      bool         // VM: boot instead of restoring a template
	Accel     string       // VM: "kvm", "tcg", or "" for what this host can do
	Log       io.Writer    // progress for a person; nil means none
}

// Access is how a guest is reached.
type Access struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	User    string `json:"user"`
	HostKey string `json:"hostKey"` // "ssh-ed25519 AAAA…"
	KeyFile string `json:"keyFile"` // private key in OpenSSH's format, mode 0600
}

// Kinds of failure.
var (
	ErrNoGuest    = errors.New("no guest was started there")
	ErrNotRunning = errors.New("the guest is not running")
)

// Guest is a running test machine.
type Guest struct {
	kind    Kind
	name    string
	dir     string
	access  Access
	ports   map[int]int
	engine  engine
	release func() // gives the cache free; never nil
}

// engine is what the kinds do differently.
type engine interface {
	running(ctx context.Context) bool
	setLink(ctx context.Context, up bool) error
	kill(ctx context.Context) error // as a power cut; returns when nothing runs any more
	close() error                   // after kill: what is held outside of the folder
}

// Access tells how to reach the guest by ssh.
func (g *Guest) Access() Access { return g.access }

// Port is the port of 127.0.0.1 that a guest's TCP port got; only 22 and those
// of Options.Forward have one.
func (g *Guest) Port(guestPort int) (int, bool) {
	port, ok := g.ports[guestPort]
	return port, ok
}

// SetLink pulls the guest's network cable, or puts it back. Connections that
// exist hang meanwhile.
func (g *Guest) SetLink(ctx context.Context, up bool) error {
	if err := g.engine.setLink(ctx, up); err != nil {
		return fmt.Errorf("set link of %s: %w", g.name, err)
	}
	return nil
}

// closeLimit bounds Close.
const closeLimit = 2 * time.Minute

// Close ends the guest and removes all that it left: processes, name spaces,
// mounts, control groups, and its files in the folder.
func (g *Guest) Close() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), closeLimit, fmt.Errorf("%s did not end", g.name))
	defer cancel()
	err := errors.Join(g.engine.kill(ctx), g.engine.close(), cleanFolder(g.dir))
	g.release()
	if err != nil {
		return fmt.Errorf("close %s: %w", g.name, err)
	}
	return nil
}

// hostName is what a machine may be called: one label.
var hostName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)

// suites lists what guests can be made of, for a person.
func suites() string {
	var names []string
	for _, s := range debian.Suites() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// complete checks the options and fills in defaults.
func (o Options) complete() (Options, error) {
	var errs []error
	if o.Kind != VM && o.Kind != Container {
		errs = append(errs, fmt.Errorf("kind %q is neither %s nor %s", o.Kind, VM, Container))
	}
	if !hostName.MatchString(o.Name) {
		errs = append(errs, fmt.Errorf("name %q is no host name", o.Name))
	}
	if o.Suite == "" {
		o.Suite = debian.Trixie
	}
	if !slices.Contains(debian.Suites(), o.Suite) {
		errs = append(errs, fmt.Errorf("suite %q is none of %s", o.Suite, suites()))
	} else if o.Kind == VM && !o.Suite.Bootable() {
		errs = append(errs, fmt.Errorf("suite %s has no kernel: only a %s is made of it", o.Suite, Container))
	}
	if o.Nested != "" && (o.Kind != Container || o.Suite != debian.Trixie) {
		errs = append(errs, fmt.Errorf("only a %s of %s has containers of its own", Container, debian.Trixie))
	}
	for _, folder := range []struct {
		what string
		path *string
	}{{"dir", &o.Dir}, {"cache", &o.Cache}} {
		if *folder.path == "" {
			errs = append(errs, fmt.Errorf("%s is not set", folder.what))
			continue
		}
		path, err := filepath.Abs(*folder.path)
		if err != nil {
			errs = append(errs, err)
		}
		*folder.path = path
	}
	// Disks name what they are made from by its path, which must not depend on
	// the way that this caller came.
	if resolved, err := filepath.EvalSymlinks(o.Cache); err == nil {
		o.Cache = resolved
	}
	for _, port := range o.Forward {
		if port < 1 || port > 65535 || port == sshPort {
			errs = append(errs, fmt.Errorf("forward of port %d", port))
		}
	}
	switch o.Accel {
	case "", "kvm", "tcg":
	default:
		errs = append(errs, fmt.Errorf("accel %q is neither kvm nor tcg", o.Accel))
	}
	if o.MemoryMiB == 0 {
		o.MemoryMiB = 1024
	}
	if o.DiskMiB == 0 {
		o.DiskMiB = 4096
	}
	if o.MemoryMiB < 256 {
		errs = append(errs, fmt.Errorf("memory of %d MiB is too little", o.MemoryMiB))
	}
	if o.DiskMiB < 512 {
		errs = append(errs, fmt.Errorf("disk of %d MiB is too small", o.DiskMiB))
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("guest options: %w", err)
	}
	return o, nil
}
