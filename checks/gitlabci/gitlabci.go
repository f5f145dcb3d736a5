// Package gitlabci runs pipelines of GitLab on this host, by gitlab-ci-local, and
// has the JSON Schema that GitLab publishes for them.
package gitlabci

import (
	"bytes"
	"context"
	_ "embed" // the schema, and the versions of what is installed
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
)

// Version is that of gitlab-ci-local: the last that runs on the Node.js 18 of
// Debian 12.
const Version = "4.65.1"

// Schema is app/assets/javascripts/editor/schema/ci.json of GitLab, of October
// 2026, as check-jsonschema 0.39.0 carries it. Its licence is MIT: schema.LICENSE.
//
//go:embed schema.json
var Schema []byte

//go:embed package.json
var wanted []byte

//go:embed package-lock.json
var locked []byte

// Missing lists the programs that are not on this host.
func Missing(e env.Environment) []string {
	var missing []string
	for _, program := range []string{"node", "npm", "rsync", "git", "bash"} {
		if _, err := child.Find(program, e.Child(nil)); err != nil {
			missing = append(missing, program)
		}
	}
	return missing
}

// Runner is a gitlab-ci-local that was installed.
type Runner struct {
	script string
	env    env.Environment
}

// Install installs gitlab-ci-local from npm once, below the folder cache: by names,
// versions and hashes, and without running anything that a package brings.
func Install(ctx context.Context, e env.Environment, cache string) (*Runner, error) {
	dir := filepath.Join(cache, "gitlab-ci-local-"+Version)
	r := &Runner{script: filepath.Join(dir, "node_modules", "gitlab-ci-local", "src", "index.js"), env: e}
	if _, err := os.Stat(r.script); err == nil {
		return r, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	draft, err := os.MkdirTemp(cache, ".gitlab-ci-local-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(draft) }()
	for name, text := range map[string][]byte{"package.json": wanted, "package-lock.json": locked} {
		if err := os.WriteFile(filepath.Join(draft, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	install := child.Command{
		Path: "npm", Args: []string{"ci", "--ignore-scripts", "--no-audit", "--no-fund"}, Dir: draft, Env: e.Child(nil),
	}
	if _, err := install.Output(ctx); err != nil {
		return nil, fmt.Errorf("install gitlab-ci-local %s: %w", Version, err)
	}
	if err := os.Rename(draft, dir); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return r, nil
}

// Run runs the pipeline of the repository at dir, with the variables of its
// .gitlab-ci-local-variables.yml. Jobs run on this host, in the folder itself. It
// gives what was printed, also with an error.
func (r *Runner) Run(ctx context.Context, dir, home string, args ...string) (string, error) {
	var said bytes.Buffer
	err := child.Command{
		Path: "node", Dir: dir, Env: r.env.Child(map[string]string{"HOME": home}), Stdout: &said, Stderr: &said,
		Args: append([]string{
			r.script, "--color=false", "--shell-executor-no-image", "--no-shell-isolation",
			"--variable", "CI_PIPELINE_SOURCE=web", "--ignore-predefined-vars", "CI_PIPELINE_SOURCE",
		}, args...),
	}.Run(ctx)
	return said.String(), err
}
