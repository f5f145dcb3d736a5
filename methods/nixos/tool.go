package nixos

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/user"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// Tool runs the commands of the Nix that is installed here.
type Tool struct {
	env     []string
	options []string
	log     *report.Log
	version string
}

// stopGrace is how long Nix may take to stop when asked: it cleans up after
// half-written store paths.
const stopGrace = 20 * time.Second

// FindTool finds Nix on the PATH. The error says how to get it.
func FindTool(ctx context.Context, environment env.Environment, log *report.Log) (*Tool, error) {
	t := &Tool{env: environment.Child(nil), log: log}
	if os.Geteuid() == 0 {
		if _, err := user.LookupGroup("nixbld"); err != nil {
			// Nix as root without its build users: root builds by itself.
			t.options = append(t.options, "--option", "build-users-group", "")
		}
	}
	version, err := t.output(ctx, "nix-instantiate", "--version")
	var failure *child.Error
	if errors.As(err, &failure) && failure.NotFound() {
		return nil, report.Refuse("find Nix", failure.Err, "install Nix 2.8 or later: mage setup does on Debian and Ubuntu")
	}
	if err != nil {
		return nil, report.Refuse("find Nix", err, "nix-instantiate is there but does not answer: try nix-instantiate --version")
	}
	t.version = strings.TrimSpace(string(version))
	return t, nil
}

// Version is what the installed Nix says of itself.
func (t *Tool) Version() string { return t.version }

func (t *Tool) command(name string, args ...string) child.Command {
	return child.Command{
		Path: name, Args: append(append([]string{}, args...), t.options...),
		Env: t.env, Grace: stopGrace, Again: time.Second, // Nix may miss a request that comes while it starts a builder
	}
}

// output runs a command of Nix and returns its standard output.
func (t *Tool) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	return t.command(name, args...).Output(ctx)
}

// stream runs a command whose standard error a person wants to follow.
func (t *Tool) stream(ctx context.Context, log *report.Log, name string, args ...string) ([]byte, error) {
	lines := log.Lines()
	defer func() { _ = lines.Close() }()
	var out bytes.Buffer
	cmd := t.command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, lines
	err := cmd.Run(ctx)
	return out.Bytes(), err
}
