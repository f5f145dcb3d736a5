package remote

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// login is what we can show to a server: keys of our own and those of an agent.
// The agent is asked to sign while hops are dialled, and let go afterwards.
type login struct {
	signers []ssh.Signer
	notes   []string
	absent  bool     // the agent does not hold the key that was declared
	agent   net.Conn // nil without one
	closing sync.Once
}

func (l *login) close() {
	if l.agent != nil {
		l.closing.Do(func() { _ = l.agent.Close() })
	}
}

func (t Target) login(ctx context.Context) (*login, error) {
	l := &login{signers: append([]ssh.Signer(nil), t.Keys...)}
	if t.AgentSocket == "" {
		return l, nil
	}
	err := l.askAgent(ctx, t)
	switch {
	case err == nil:
		return l, nil
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case len(t.Keys) > 0:
		l.notes = append(l.notes, fmt.Sprintf("ssh-agent %s: %v; going on with the keys given", t.AgentSocket, err))
		return l, nil
	}
	l.close()
	return nil, &Error{
		Class: Unauthenticated, Op: "ask ssh-agent", Host: t.AgentSocket, Err: err,
		Hint: "start the agent or correct the path, or give a private key",
	}
}

// askAgent adds the agent's keys, those that we have already left out.
func (l *login) askAgent(ctx context.Context, t Target) error {
	path, limit := t.AgentSocket, t.ConnectTimeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := dialSocket(ctx, path)
	if err != nil {
		return err
	}
	l.agent = conn
	release := context.AfterFunc(ctx, l.close)
	defer release()
	signers, err := agent.NewClient(conn).Signers()
	if ctx.Err() != nil {
		return &lateError{limit: limit, doing: "listing its keys"}
	}
	if err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	if len(signers) == 0 {
		l.notes = append(l.notes, "ssh-agent "+path+" holds no keys")
	}
	if t.AgentKey != nil {
		signers = l.first(signers, t)
	}
	have := map[string]bool{}
	for _, s := range l.signers {
		have[ssh.FingerprintSHA256(s.PublicKey())] = true
	}
	for _, s := range signers {
		if !have[ssh.FingerprintSHA256(s.PublicKey())] {
			l.signers = append(l.signers, s)
		}
	}
	return nil
}

// dialSocket goes through the open folder where the path has more bytes than the address
// of a socket may (unix(7)): one that was given from its folder is not so long there.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	const longest = 107
	var dialer net.Dialer
	if len(path) <= longest {
		return dialer.DialContext(ctx, "unix", path)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	return dialer.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)))
}

// first puts the agent's key that was declared before its others.
func (l *login) first(signers []ssh.Signer, t Target) []ssh.Signer {
	at := slices.IndexFunc(signers, func(s ssh.Signer) bool { return bytes.Equal(s.PublicKey().Marshal(), t.AgentKey.Marshal()) })
	if at < 0 {
		l.absent = true
		l.notes = append(l.notes, fmt.Sprintf("ssh-agent %s does not hold the declared key, %s, which has a passphrase", t.AgentSocket, name(t.AgentKey)))
		return signers
	}
	return slices.Concat(signers[at:at+1], signers[:at], signers[at+1:])
}

// refused says who was refused, and what we had to show.
func (l *login) refused(user string, err error) error {
	var text strings.Builder
	if len(l.signers) == 0 {
		fmt.Fprintf(&text, "login of %s refused: there was no key to offer", user)
	} else {
		var offered []string
		for _, s := range l.signers {
			offered = append(offered, name(s.PublicKey()))
		}
		fmt.Fprintf(&text, "login of %s refused: offered %s", user, strings.Join(offered, ", "))
	}
	for _, note := range l.notes {
		text.WriteString("; " + note)
	}
	return fmt.Errorf("%s: %w", text.String(), err)
}

func (l *login) hint(user string, tooMany bool) string {
	switch {
	case l.absent:
		return "load the declared key into the agent (ssh-add), or give one without a passphrase"
	case len(l.signers) == 0:
		return "give a private key, or an ssh-agent that holds one"
	case tooMany:
		return "the server stopped before it had seen every key (MaxAuthTries): offer fewer"
	}
	return "add one of these keys to the authorized keys of " + user + ", and see that this user may log in"
}
