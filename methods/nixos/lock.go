package nixos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// lockScript takes the machine's deployment lock for as long as it is fed: a
// line every now and then. When nothing comes for a minute, or its input ends,
// or its session dies, the lock is free again. A shell that can't read with a
// time limit holds it until its input ends. With the lock comes the fence: what
// is locked again ($3) must not have been another's in between. A boot forgets both.
// What a guard kept of the system before goes with the last guard.
const lockScript = `
umask 077; mkdir -p /run/slipway
exec 9>>/run/slipway/lock
flock -n -E 75 9 || { status=$?; [ $status -eq 75 ] && cat /run/slipway/holder 2>/dev/null; exit $status; }
exec 8>>/run/slipway/step
flock -w 30 -E 75 8 || { status=$?; [ $status -eq 75 ] && echo "an earlier run, a step of which is still under way"; exit $status; }
was=$(cat /run/slipway/fence 2>/dev/null)
[ -z "$3" ] || [ -z "$was" ] || [ "$was" = "$2" ] || exit 76
printf '%s\n' "$2" > /run/slipway/fence.new && mv /run/slipway/fence.new /run/slipway/fence || exit 1
exec 8>&-
printf '%s, since %s\n' "$1" "$(date -u '+%F %T UTC')" > /run/slipway/holder
echo held
before=/nix/var/nix/gcroots/slipway-before
[ ! -L $before ] || [ -n "$(systemctl list-units --plain --no-legend --state=active,activating '` + guardPrefix + `*')" ] || rm -f $before
limit=
if (read -t 1 x </dev/null) 2>/dev/null || [ $? -le 1 ]; then limit='-t 60'; fi
while read $limit x; do :; done`

// LockLease is how long the lock of a connection that was lost stays taken.
const LockLease = time.Minute

// lockBeat is how often the holder of a lock says that it is still there.
const lockBeat = 15 * time.Second

// Lease is the deployment lock of a machine, for as long as it lasts.
type Lease struct {
	Fence   Fence
	Release func()
	Lost    <-chan struct{} // closed when the machine has given the lock up
}

// Lock takes the deployment lock of a machine, so that two runs never change
// one machine at once. Whoever holds it is named in the error (exit code 75).
func Lock(ctx context.Context, conn *remote.Conn, holder string) (*Lease, error) {
	return lock(ctx, conn, holder, newFence(), "")
}

// Again takes a lock again that was lost. The error is ErrFenced when another run
// had it meanwhile.
func (l *Lease) Again(ctx context.Context, conn *remote.Conn, holder string) (*Lease, error) {
	return lock(ctx, conn, holder, l.Fence, "again")
}

func lock(ctx context.Context, conn *remote.Conn, holder string, fence Fence, again string) (*Lease, error) {
	ctx, cancel := context.WithCancel(ctx)
	reader, writer := io.Pipe()
	answer := &firstLine{got: make(chan struct{})}
	ended := make(chan struct{})
	var how error
	go func() {
		how = conn.Run(ctx, remote.Command{
			Script: lockScript, Args: []string{holder, fence.token, again}, Stdin: reader, Stdout: answer, Root: true,
		})
		close(ended)
	}()
	release := sync.OnceFunc(func() {
		_ = writer.Close()
		select {
		case <-ended:
		case <-time.After(lockBeat):
		}
		cancel()
	})
	give := func(err error) (*Lease, error) {
		cancel()
		_ = writer.Close()
		return nil, err
	}
	select {
	case <-answer.got:
	case <-ended:
		if answer.text() != "held" {
			return give(lockError(how, answer.text()))
		}
	case <-time.After(lookLimit):
		return give(fmt.Errorf("lock the machine: no answer after %s", lookLimit))
	case <-ctx.Done():
		return give(context.Cause(ctx))
	}
	if text := answer.text(); text != "held" {
		release()
		return nil, lockError(&remote.ExitError{Status: int(report.Busy)}, text)
	}
	go beat(ctx, writer)
	return &Lease{Fence: fence, Release: release, Lost: ended}, nil
}

func beat(ctx context.Context, to io.Writer) {
	ticker := time.NewTicker(lockBeat)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if _, err := io.WriteString(to, "\n"); err != nil {
				return
			}
		}
	}
}

func lockError(err error, said string) error {
	var exit *remote.ExitError
	if errors.As(err, &exit) && exit.Status == fencedStatus {
		return fmt.Errorf("lock the machine again: %w", ErrFenced)
	}
	if !errors.As(err, &exit) || exit.Status != int(report.Busy) {
		return fmt.Errorf("lock the machine: %w", err)
	}
	if said == "" {
		said = "an unknown run"
	}
	return &report.Fault{
		Code: report.Busy, What: "lock the machine", Why: fmt.Errorf("it is being deployed to by %s", said),
		Hint: "try again when that run has ended; nothing was changed",
	}
}

// firstLine keeps the first line that is written to it.
type firstLine struct {
	mu   sync.Mutex
	buf  []byte
	done bool
	got  chan struct{}
}

func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		f.buf = append(f.buf, p...)
		f.buf = f.buf[:min(len(f.buf), plaintext.LineLimit)]
		if strings.ContainsRune(string(f.buf), '\n') || len(f.buf) == plaintext.LineLimit {
			f.done = true
			close(f.got)
		}
	}
	return len(p), nil
}

func (f *firstLine) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := strings.Cut(string(f.buf), "\n")
	return plaintext.Line(line)
}
