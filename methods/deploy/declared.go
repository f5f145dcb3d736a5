package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// Declared is the way to a machine that is there: the coordinates say it.
type Declared struct{ keys Keys }

var _ Way = (*Declared)(nil)

// Coordinates are the keys of a machine that is reached over ssh.
func (d *Declared) Coordinates() []any { return []any{&d.keys} }

// Check names everything that is wrong with the coordinates at once.
func (d *Declared) Check() error {
	_, err := d.keys.target()
	return err
}

// Find gives what the coordinates say.
func (d *Declared) Find(context.Context, *task.Run) (Reached, error) {
	target, err := d.keys.target()
	return Reached{Target: target}, err
}

// Up is Find: no more is in its power.
func (d *Declared) Up(ctx context.Context, run *task.Run) (Reached, error) { return d.Find(ctx, run) }

// target makes plain values of the coordinates. It names everything that is
// wrong with them at once.
func (k Keys) target() (remote.Target, error) {
	return k.Target(string(k.Host), int(k.Port), k.HostKey)
}

// Check names everything that is wrong with the coordinates, wherever the machine
// will be.
func (l Login) Check() error {
	_, faults := l.plain()
	return usage(faults)
}

// Target says how to reach the machine at a place.
func (l Login) Target(host string, port int, hostKeys []string) (remote.Target, error) {
	t, faults := l.plain()
	t.Host, t.Port, t.HostKeys = host, port, hostKeys
	if err := t.Check(); err != nil {
		faults = append(faults, fmt.Errorf("SSH_HOST, SSH_HOST_KEY: %w", err))
	}
	return t, usage(faults)
}

// plain makes plain values of the coordinates.
func (l Login) plain() (remote.Target, []error) {
	t := remote.Target{
		User: l.User, AgentSocket: string(l.Agent),
		ConnectTimeout: time.Duration(l.Connect), KeepAlive: time.Duration(l.KeepAlive),
	}
	var faults []error
	if l.Key.IsSet() {
		signer, err := remote.ParsePrivateKey([]byte(l.Key.Reveal()))
		locked, isLocked := errors.AsType[*remote.LockedKeyError](err)
		switch {
		case err == nil:
			t.Keys = []xssh.Signer{signer}
		case isLocked && l.Agent != "":
			t.AgentKey = locked.Public
		case isLocked:
			faults = append(faults, fmt.Errorf("SSH_KEY: %w; SSH_AUTH_SOCK names the agent's socket", err))
		default:
			faults = append(faults, fmt.Errorf("SSH_KEY: %w; SSH_KEY_FILE takes the path of a file", err))
		}
	}
	if !l.Key.IsSet() && l.Agent == "" {
		faults = append(faults, errors.New("SSH_KEY, SSH_KEY_FILE or SSH_AUTH_SOCK: none is set, and nothing else opens the machine"))
	}
	jumps, err := remote.ParseJump(string(l.Jump))
	if err != nil {
		faults = append(faults, fmt.Errorf("SSH_JUMP: %w", err))
	}
	if len(jumps) > 1 && remote.Unnamed(l.JumpKeys) {
		// The first host could pass for the second with its own key.
		faults = append(faults, errors.New("SSH_JUMP_HOST_KEY: a key has no host before it, and there are several hosts: write each as in known_hosts, \"gate.example.org ssh-ed25519 AAAA…\""))
	}
	for i := range jumps {
		jumps[i].HostKeys = l.JumpKeys
		hop := remote.Target{Host: jumps[i].Host, Port: jumps[i].Port, User: jumps[i].User, HostKeys: l.JumpKeys}
		if err := hop.Check(); err != nil {
			faults = append(faults, fmt.Errorf("SSH_JUMP, SSH_JUMP_HOST_KEY: %w", err))
		}
	}
	t.Jumps = jumps
	return t, faults
}

func usage(faults []error) error {
	if err := errors.Join(faults...); err != nil {
		return &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	return nil
}
