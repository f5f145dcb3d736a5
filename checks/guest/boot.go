package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"fediversity.eu/slipway/checks/guest/qemu"
)

// readyLimit is how long sshd may take to answer once the guest knows who it is.
const readyLimit = 2 * time.Minute

// restoreAttempts is how often a machine is restored that does not listen. It was
// seen once, emulated, with a template just made: no answer on its serial port
// within a minute. Why is not known. It was nobody yet, so another one may take
// its place; the log says when that happens, and what QEMU knew of the machine.
const restoreAttempts = 3

// errSilent is a restored machine that does not answer on its serial port.
var errSilent = errors.New("the guest does not answer")

// Boot makes a guest that ends when Close is called or the calling process is
// gone, and returns when its sshd lets us in. An error carries the end of the
// console; then nothing is left running.
func Boot(ctx context.Context, options Options) (*Guest, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	if err := makeFolder(ctx, o.Dir); err != nil {
		return nil, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	if o.Kind == Container {
		return bootContainer(ctx, o)
	}
	return bootVM(ctx, o, false, nil)
}

// bootVM makes a virtual machine. beforeStart, if given, is called with the
// machine when all is known of it but its ports.
func bootVM(ctx context.Context, o Options, detach bool, beforeStart func(qemu.Machine, Access) error) (*Guest, error) {
	s, release, err := prepare(ctx, o)
	if err != nil {
		return nil, err
	}
	started := time.Now()
	var g *Guest
	for attempt := 1; ; attempt++ {
		g, err = assemble(ctx, o, s, detach, beforeStart)
		if attempt == restoreAttempts || s.template == "" || !errors.Is(err, errSilent) || ctx.Err() != nil {
			break
		}
		say(o.Log, "%s came back deaf; restoring it again: %v", o.Name, err)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("boot %s: %w", o.Name, err)
	}
	g.release = release
	took(o.Log, fmt.Sprintf("%s is up (%s)", o.Name, s.accel.Name), started)
	return g, nil
}

func assemble(ctx context.Context, o Options, s stock, detach bool, beforeStart func(qemu.Machine, Access) error) (*Guest, error) {
	id, err := newIdentity(o.Name)
	if err != nil {
		return nil, err
	}
	access, err := id.store(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := makeDisk(ctx, s, filepath.Join(o.Dir, diskFile)); err != nil {
		return nil, err
	}
	// An absolute path: a daemon that opens its disk late has left the folder.
	machine := s.machine(o, filepath.Join(o.Dir, diskFile))
	machine.Detach = detach
	if s.template != "" {
		machine.RAM, machine.Incoming = filepath.Join(s.template, templateRAM), true
	}
	if beforeStart != nil {
		if err := beforeStart(machine, access); err != nil {
			return nil, err
		}
	}
	v, err := startVM(ctx, o.Dir, machine)
	if err != nil {
		return nil, err
	}
	g := &Guest{kind: VM, name: o.Name, dir: o.Dir, access: access, engine: v}
	if err := g.wake(ctx, v, s, id); err != nil {
		return nil, errors.Join(withConsole(err, o.Dir), v.abort(ctx))
	}
	return g, nil
}

// wake lets a machine run until its sshd answers.
func (g *Guest) wake(ctx context.Context, v *vm, s stock, id identity) error {
	var line *identityLine
	var err error
	if s.template == "" {
		line, err = v.power(ctx)
	} else if line, err = v.identityLine(ctx); err == nil {
		err = v.restore(ctx, filepath.Join(s.template, templateState))
	}
	if line != nil {
		defer func() { _ = line.Close() }()
	}
	if err != nil {
		return err
	}
	if err := line.introduce(ctx, id); err != nil {
		return fmt.Errorf("%w\n%s", err, v.posture(ctx))
	}
	if g.ports, err = v.ports(ctx); err != nil {
		return err
	}
	if g.access.Port = g.ports[sshPort]; g.access.Port == 0 {
		return errors.New("QEMU forwards no port to sshd")
	}
	return ready(ctx, g.name, g.access, readyLimit, v.alive)
}

// state is what Start writes down of a guest for Find.
type state struct {
	Name     string      `json:"name"`
	UUID     string      `json:"uuid"`
	Complete bool        `json:"complete"` // false until sshd answered
	Access   Access      `json:"access"`
	Ports    map[int]int `json:"ports"`
}

// Start makes a VM that outlives the calling process, with all that Find needs
// in its folder. What an earlier Start left in that folder is ended and removed
// first, whether it had come to its end or not.
func Start(ctx context.Context, options Options) (*Guest, error) {
	o, err := options.complete()
	if err != nil {
		return nil, err
	}
	if o.Kind != VM {
		return nil, fmt.Errorf("start %s: only a %s outlives its caller", o.Name, VM)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	unlock, err := lockFileWithin(ctx, filepath.Join(o.Dir, lockFile), buildLimit, func() {
		say(o.Log, "waiting for another process that starts this machine")
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	defer unlock()
	if err := makeFolder(ctx, o.Dir); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.Name, err)
	}
	file := filepath.Join(o.Dir, stateFile)
	known := state{Name: o.Name}
	g, err := bootVM(ctx, o, true, func(m qemu.Machine, access Access) error {
		known.UUID, known.Access = m.UUID, access
		return writeJSON(file, known)
	})
	if err != nil {
		return nil, err
	}
	known.Complete, known.Access, known.Ports = true, g.access, g.ports
	if err := writeJSON(file, known); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}
