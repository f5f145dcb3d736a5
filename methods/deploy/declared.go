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
	t := remote.Target{
		Host: string(k.Host), Port: int(k.Port), User: k.User, HostKeys: k.HostKey,
		AgentSocket:    string(k.Agent),
		ConnectTimeout: time.Duration(k.Connect), KeepAlive: time.Duration(k.KeepAlive),
	}
	var faults []error
	if k.Key.IsSet() {
		signer, err := remote.ParsePrivateKey([]byte(k.Key.Reveal()))
		if err != nil {
			faults = append(faults, fmt.Errorf("SSH_KEY: %w", err))
		}
		t.Keys = []xssh.Signer{signer}
	}
	if !k.Key.IsSet() && k.Agent == "" {
		faults = append(faults, errors.New("SSH_KEY, SSH_KEY_FILE or SSH_AUTH_SOCK: none is set, and nothing else opens the machine"))
	}
	jumps, err := remote.ParseJump(string(k.Jump))
	if err != nil {
		faults = append(faults, fmt.Errorf("SSH_JUMP: %w", err))
	}
	if err := t.Check(); err != nil {
		faults = append(faults, fmt.Errorf("SSH_HOST, SSH_HOST_KEY: %w", err))
	}
	for i := range jumps {
		jumps[i].HostKeys = k.JumpKeys
		hop := remote.Target{Host: jumps[i].Host, Port: jumps[i].Port, User: jumps[i].User, HostKeys: k.JumpKeys}
		if err := hop.Check(); err != nil {
			faults = append(faults, fmt.Errorf("SSH_JUMP, SSH_JUMP_HOST_KEY: %w", err))
		}
	}
	t.Jumps = jumps
	if err := errors.Join(faults...); err != nil {
		return t, &report.Fault{Code: report.Usage, What: "read the coordinates", Why: err}
	}
	return t, nil
}
