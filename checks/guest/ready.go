package guest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"

	"fediversity.eu/slipway/internal/wait"
)

// sshPort is where a guest's sshd listens, inside.
const sshPort = 22

// ready waits until the guest's sshd, with the guest's own host key, lets us in.
func ready(ctx context.Context, name string, access Access, limit time.Duration, alive func() error) error {
	up := wait.For{
		What:  fmt.Sprintf("sshd of %s at %s", name, access.address()),
		Limit: limit, Try: 20 * time.Second, Interval: 20 * time.Millisecond,
	}
	return up.Until(ctx, func(ctx context.Context) error {
		if err := alive(); err != nil {
			return wait.Stop(err)
		}
		client, err := access.dial(ctx)
		if err != nil {
			return err
		}
		return client.Close()
	})
}

func (a Access) address() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// dial opens an ssh connection, trusting the guest's host key and no other.
func (a Access) dial(ctx context.Context) (*ssh.Client, error) {
	pem, err := os.ReadFile(a.KeyFile)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(pem)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %w", a.KeyFile, err)
	}
	hostKey, _, _, _, err := ssh.ParseAuthorizedKey([]byte(a.HostKey))
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", a.address())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	inner, channels, requests, err := ssh.NewClientConn(conn, a.address(), &ssh.ClientConfig{
		User: a.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback: ssh.FixedHostKey(hostKey), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519},
	})
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return ssh.NewClient(inner, channels, requests), nil
}

// run runs a command in the guest and returns what it wrote to both streams.
func (a Access) run(ctx context.Context, command string) ([]byte, error) {
	client, err := a.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	return session.CombinedOutput(command)
}
