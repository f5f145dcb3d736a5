package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	xssh "golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/methods"
	"fediversity.eu/slipway/methods/nixos"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// reach is how a task gets to its machine: by the coordinates, or over the host
// that booted it.
type reach struct {
	deployment methods.Deployment
	host       Host
	keys       Keys
	cache      env.Cache
}

func (r *reach) coordinates() []any {
	if r.local() {
		return []any{&r.cache} // Slipway made the machine and knows how to reach it
	}
	return []any{&r.keys}
}

func (r *reach) local() bool {
	_, ok := r.deployment.Machine.Placement.(groups.Local)
	return ok
}

// dial connects to the machine as it is.
func (r *reach) dial(ctx context.Context, run *task.Run) (*remote.Conn, error) {
	reached := Reached{}
	if r.local() {
		var err error
		if reached, err = r.host.Find(ctx, run, r.deployment); err != nil {
			return nil, err
		}
	}
	conn, _, err := r.connect(ctx, run, reached)
	return conn, err
}

// up boots the machine if it is one that Slipway boots, then connects.
func (r *reach) up(ctx context.Context, run *task.Run) (*remote.Conn, Reached, error) {
	if !r.local() {
		return r.connect(ctx, run, Reached{})
	}
	done := run.Record.Time("boot")
	reached, err := r.host.Up(ctx, run, r.deployment)
	done()
	if err != nil {
		return nil, Reached{}, err
	}
	return r.connect(ctx, run, reached)
}

func (r *reach) connect(ctx context.Context, run *task.Run, reached Reached) (*remote.Conn, Reached, error) {
	target := reached.Target
	if !r.local() {
		var err error
		if target, err = r.keys.target(); err != nil {
			return nil, reached, err
		}
	}
	done := run.Record.Time("connect")
	conn, err := remote.Dial(ctx, target)
	done()
	if err != nil {
		return nil, reached, err
	}
	for _, note := range conn.Notes() {
		run.Log.Warnf("%s", note)
	}
	run.Log.Infof("%s %s is %s", r.deployment.Group.Name, r.deployment.Machine.Name, conn)
	return conn, reached, nil
}

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

// check looks at the coordinates before anything starts.
func (r *reach) check() error {
	if r.local() {
		return nil
	}
	_, err := r.keys.target()
	return err
}

// asRoot runs scripts on a machine as root, whoever logged in: only root sees
// every journal.
type asRoot struct{ conn *remote.Conn }

func (h asRoot) Output(ctx context.Context, script string, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := h.conn.Run(ctx, remote.Command{Script: script, Args: args, Stdout: &out, Root: true})
	return out.Bytes(), err
}

// inspect asks the machine about itself and refuses one that can't be deployed
// to.
func (r *reach) inspect(ctx context.Context, conn *remote.Conn, run *task.Run) (nixos.Machine, error) {
	machine, err := nixos.Inspect(ctx, conn)
	if err != nil {
		return machine, err
	}
	run.Record.Running = machine.Current
	tellReverted(run, machine)
	return machine, machine.Accept(r.deployment.Machine.Platform())
}

// tellReverted says that the machine went back by itself, if it did since the
// last change.
func tellReverted(run *task.Run, machine nixos.Machine) {
	r := machine.Reverted
	if r == nil || run.Record.Reverted != nil {
		return
	}
	run.Log.Warnf("%s", r)
	run.Record.Reverted = &report.Reverted{From: r.From, To: r.To, Why: r.Why, At: r.At}
}

// classify gives an error of the connection its exit code: refused where the
// machine or we turned the contact down before anything happened, and unknown
// where contact was not made or was lost. After a change nothing is refused any
// more.
func classify(err error, changed bool) error {
	var fault *report.Fault
	var contact *remote.Error
	if err == nil || errors.As(err, &fault) || !errors.As(err, &contact) {
		return err
	}
	code := report.Unknown
	if changed {
		return &report.Fault{Code: code, What: contact.Class.String(), Why: err, Hint: contact.Hint}
	}
	switch contact.Class { //nolint:exhaustive // the others are about the network
	case remote.HostKeyUnknown, remote.HostKeyChanged, remote.HostKeyWrongType, remote.HostKeyRevoked,
		remote.Unauthenticated, remote.SessionRefused, remote.ForwardRefused, remote.ShellRefused, remote.SudoRefused:
		code = report.Refused
	}
	return &report.Fault{Code: code, What: contact.Class.String(), Why: err, Hint: contact.Hint}
}
