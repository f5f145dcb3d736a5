package nixos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"fediversity.eu/slipway/internal/bounded"
	"fediversity.eu/slipway/internal/tail"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// CopyOptions say how a closure gets to a machine.
type CopyOptions struct {
	Substitute bool // let the machine fetch from its own binary caches first
}

// Copied is what a copy sent.
type Copied struct {
	Paths int
	Bytes int64 // as exported, before compression
}

// missingScript reads store paths, one a line, and prints those that are not
// valid here.
const missingScript = `xargs nix-store --check-validity --print-invalid`

// substituteScript reads store paths and fetches what this machine's own
// binary caches have of them.
const substituteScript = `xargs nix-store --realise --keep-going --quiet >/dev/null`

// Copy sends what a machine lacks of a closure, over the connection that is
// there. A copy that was cut short is taken up again by the next one: each path
// that has arrived is valid by itself.
func (t *Tool) Copy(ctx context.Context, conn *remote.Conn, m Machine, closure []Path, o CopyOptions) (Copied, error) {
	log := t.log.In("copy")
	missing, err := askMissing(ctx, conn, closure)
	if err != nil || len(missing) == 0 {
		return Copied{}, err
	}
	if o.Substitute {
		log.Infof("%d of %d paths are missing; the machine looks in its own caches first", len(missing), len(closure))
		if err := substitute(ctx, conn, missing, log); err != nil {
			return Copied{}, err
		}
		if missing, err = askMissing(ctx, conn, missing); err != nil || len(missing) == 0 {
			return Copied{}, err
		}
	}
	if err := t.Sizes(ctx, missing); err != nil {
		return Copied{}, err
	}
	size := total(missing)
	if m.FreeBytes > 0 && size > m.FreeBytes {
		return Copied{}, report.Refuse("copy the closure",
			fmt.Errorf("%s needed, %s free on the machine's /nix/store", report.Bytes(size), report.Bytes(m.FreeBytes)),
			"nix-collect-garbage on the machine frees what nothing uses; nothing was copied or changed")
	}
	log.Infof("%d of %d paths, %s", len(missing), len(closure), report.Bytes(size))
	if err := t.send(ctx, conn, m, missing, log); err != nil {
		return Copied{}, err
	}
	return Copied{Paths: len(missing), Bytes: size}, nil
}

func list(paths []Path) io.Reader {
	return strings.NewReader(strings.Join(names(paths), "\n") + "\n")
}

func askMissing(ctx context.Context, conn *remote.Conn, closure []Path) ([]Path, error) {
	out := bounded.Buffer{Limit: remote.OutputLimit}
	ask := remote.Command{Script: missingScript, Stdin: list(closure), Stdout: &out}
	if err := step(ctx, conn, "ask for missing paths", storeLimit, ask); err != nil {
		return nil, err
	}
	invalid := map[string]bool{}
	for name := range strings.FieldsSeq(out.String()) {
		invalid[name] = true
	}
	var missing []Path
	for _, path := range closure {
		if invalid[path.Name] {
			missing = append(missing, path)
		}
	}
	return missing, nil
}

// substitute is allowed to fail: whatever the machine did not find is sent.
func substitute(ctx context.Context, conn *remote.Conn, missing []Path, log *report.Log) error {
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	err := conn.Run(ctx, remote.Command{Script: substituteScript, Stdin: list(missing), Stderr: lines, Root: true})
	var exit *remote.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("substitute on the machine: %w", err)
	}
	return nil
}

// compression is a way to make a stream smaller that both sides know.
type compression struct {
	name   string
	unpack string // what undoes it on the machine
	pack   func(io.Writer) (io.WriteCloser, error)
}

var compressions = []compression{
	{"zstd", "zstd -dqc", func(w io.Writer) (io.WriteCloser, error) {
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest))
	}},
	{"gzip", "gzip -dc", func(w io.Writer) (io.WriteCloser, error) {
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	}},
	{"", "cat", func(w io.Writer) (io.WriteCloser, error) { return nopCloser{w}, nil }},
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// compressionFor picks the best that the machine has.
func (m Machine) compressionFor() compression {
	for _, c := range compressions {
		if c.name == "" || m.Tools[c.name] {
			return c
		}
	}
	return compressions[len(compressions)-1]
}

// send exports paths here, compressed, and imports them there. nix-store
// --import fails by itself when its stream ends early.
func (t *Tool) send(ctx context.Context, conn *remote.Conn, m Machine, paths []Path, log *report.Log) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	via := m.compressionFor()
	reader, writer := io.Pipe()
	exported := make(chan error, 1)
	go func() {
		err := t.export(ctx, paths, via, writer, log)
		_ = writer.CloseWithError(err)
		if err != nil {
			cancel(err)
		}
		exported <- err
	}()
	var said tail.Tail
	err := conn.Run(ctx, remote.Command{
		Script: via.unpack + " | nix-store --import >/dev/null", Stdin: reader, Stderr: &said, Root: true,
	})
	if err != nil {
		cancel(err) // the export has nobody to send to any more
	}
	_ = reader.CloseWithError(io.ErrClosedPipe)
	if failed := <-exported; failed != nil && err == nil {
		return fmt.Errorf("export the closure: %w", failed)
	}
	if err != nil {
		return importError(err, said.String())
	}
	return nil
}

func (t *Tool) export(ctx context.Context, paths []Path, via compression, to io.Writer, log *report.Log) error {
	packed, err := via.pack(to)
	if err != nil {
		return err
	}
	counted := &counter{to: packed, total: total(paths), log: log}
	// All paths in one call: an importing Nix reads one stream, which ends with
	// a mark. A store path is about 80 bytes and a command line may have 2 MiB.
	cmd := t.command("nix-store", append([]string{"--export"}, names(paths)...)...)
	cmd.Stdout = counted
	cmd.Drain = storeLimit // a slow link is not a fault of the export
	if err := cmd.Run(ctx); err != nil {
		return err
	}
	if counted.err != nil {
		return counted.err
	}
	log.Progress(counted.total, counted.total)
	return packed.Close()
}

// counter reports how many bytes went through, and keeps the error of a writer
// that the child does not see.
type counter struct {
	to    io.Writer
	done  int64
	total int64
	log   *report.Log
	err   error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.done += int64(n)
	c.err = err
	c.log.Progress(min(c.done, c.total-1), c.total)
	return n, err
}

// importError says what the machine's Nix did not like.
func importError(err error, said string) error {
	if _, ok := errors.AsType[*remote.ExitError](err); !ok {
		return fmt.Errorf("copy the closure: %w", err)
	}
	fault := report.Fail("copy the closure", errors.New(lastError(said)), "")
	switch {
	case strings.Contains(said, "No space left on device"):
		fault.Code = report.Refused
		fault.Hint = "nix-collect-garbage on the machine frees what nothing uses; its system was not changed"
	case strings.Contains(said, "lacks a signature"), strings.Contains(said, "lacks a valid signature"):
		fault.Code = report.Refused
		fault.Hint = "the machine does not trust what this host built: deploy as root or as one of its " +
			"nix.settings.trusted-users, or sign here (secret-key-files) with a key of its trusted-public-keys"
	}
	return fault
}
