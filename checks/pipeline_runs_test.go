//go:build checks

package checks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/gitlabci"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// jobScript runs what a job runs, and writes down which variables the job has; where
// a file has its record, it only leaves that, and where one has an exit code, it only
// ends with that.
const jobScript = `#!/bin/sh
env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' | sort > "seen-$1"
echo "$1" >> started
record="$(dirname "$0")/record-$1"
if [ -e "$record" ]; then exec cp "$record" "$REPORT"; fi
codes="$(dirname "$0")/codes-$1"
if [ -e "$codes" ]; then exit "$(cat "$codes")"; fi
exec SLIPWAY "$@"
`

// repository is a repository of GitLab's with a pipeline.
type repository struct {
	*world
	runner *gitlabci.Runner
	dir    string
	// outside is a folder of no repository, where the script of the jobs is.
	outside string
}

// pipelined commits a pipeline into a repository of its own. Codes say how jobs end
// that run nothing.
func (w *world) pipelined(t *testing.T, runner *gitlabci.Runner, name string, variables map[string]any, codes map[string]string) *repository {
	t.Helper()
	outside := t.TempDir()
	r := &repository{world: w, runner: runner, dir: t.TempDir(), outside: outside}
	put := func(path, text string, mode os.FileMode) {
		assert.NilError(t, os.WriteFile(path, []byte(text), mode))
	}
	script := filepath.Join(outside, "job")
	put(script, strings.Replace(jobScript, "SLIPWAY", binary(t), 1), 0o755)
	for job, text := range codes {
		put(filepath.Join(outside, "codes-"+job), text, 0o644)
	}
	o := w.slipway(map[string]string{"PIPELINE_COMMAND": script}, "pipeline", "gitlab", name)
	assert.Equal(t, o.code, report.Healthy, "%s", o.stderr)
	put(filepath.Join(r.dir, ".gitlab-ci.yml"), o.stdout, 0o644)
	// YAML, of which JSON is a part. Values in this form are never taken for paths.
	given := map[string]any{}
	for key, value := range variables {
		given[key] = map[string]any{"type": "variable", "values": map[string]any{"*": value}}
	}
	text, err := json.Marshal(given)
	assert.NilError(t, err)
	put(filepath.Join(r.dir, ".gitlab-ci-local-variables.yml"), string(text), 0o600)
	for _, words := range [][]string{
		{"init", "--quiet", "--initial-branch", "main"},
		{"add", ".gitlab-ci.yml"},
		{"-c", "user.name=check", "-c", "user.email=check@example.org", "commit", "--quiet", "--message", "A pipeline"},
	} {
		git := child.Command{Path: "git", Args: words, Dir: r.dir, Env: pairs(w.env)}
		assert.NilError(t, git.Run(t.Context()))
	}
	return r
}

// run runs the pipeline, and tells how it ended and what was said.
func (r *repository) run(t *testing.T, args ...string) (said string, ended error) {
	t.Helper()
	said, ended = r.runner.Run(t.Context(), r.dir, r.world.dir, args...)
	t.Log(said)
	return said, ended
}

// started lists the jobs in the order in which they started.
func (r *repository) started(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "started"))
	assert.NilError(t, err)
	return strings.Fields(string(text))
}

// seen lists the variables that a job had, without those that every process has.
func (r *repository) seen(t *testing.T, job string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "seen-"+job))
	assert.NilError(t, err)
	return slices.DeleteFunc(strings.Fields(string(text)), func(name string) bool {
		fixed := slices.ContainsFunc(env.Fixed(), func(v env.Variable) bool { return v.Name == name })
		return fixed || name == "PWD" || name == "OLDPWD" || name == "SHLVL" || name == "_"
	})
}

// TestPipelineRuns runs what it writes.
func TestPipelineRuns(t *testing.T) {
	w := newWorld(t)
	if missing := gitlabci.Missing(env.Process()); len(missing) > 0 {
		t.Skipf("missing part: %s", strings.Join(missing, ", "))
	}
	_, _, cache := given(t)
	runner, err := gitlabci.Install(t.Context(), env.Process(), cache)
	assert.NilError(t, err)
	variables := map[string]any{
		"NIXPKGS": w.env["NIXPKGS"], "CACHE_DIR": w.env["CACHE_DIR"], "DNS_DOMAIN": "example.org",
		"DB_SSH_HOST": "127.0.0.1", "DB_SSH_PORT": "1", "DB_SSH_KEY": "hush-hush\nof two lines", "SSH_HOST": "192.0.2.7",
		"DB_SSH_HOST_KEY": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"WEB_SSH_KEY":     "another-hush", "DNS_TOKEN": "a-third-hush", "UNDECLARED": "x",
	}

	t.Run("every job builds, in order, and leaves its record", func(t *testing.T) {
		r := w.pipelined(t, runner, "operator-combined-build", variables, nil)
		_, ended := r.run(t)
		assert.NilError(t, ended)
		started := r.started(t)
		assert.Equal(t, len(started), 3)
		assert.Equal(t, started[0], "operator-ssh-db-build")
		for _, job := range started {
			text, err := os.ReadFile(filepath.Join(r.dir, ".gitlab-ci-local", "artifacts", job, job+".json"))
			assert.NilError(t, err)
			valid(t, report.RecordSchema, text)
			var record report.Record
			assert.NilError(t, json.Unmarshal(text, &record))
			assert.Equal(t, record.Program, job)
			assert.Equal(t, record.ExitCode, report.Healthy)
		}
	})

	t.Run("what needs a job that fails is not started", func(t *testing.T) {
		r := w.pipelined(t, runner, "operator-combined-verify", variables, nil)
		_, ended := r.run(t)
		assert.Assert(t, ended != nil)
		assert.DeepEqual(t, r.started(t), []string{"operator-ssh-db-verify"})
		assert.DeepEqual(t, r.seen(t, "operator-ssh-db-verify"), []string{
			"CACHE_DIR", "DB_SSH_HOST", "DB_SSH_HOST_KEY", "DB_SSH_KEY", "DB_SSH_PORT", "PROGRESS", "REPORT",
		})
	})

	// This runner does not know how to try again after an exit code.
	t.Run("a reboot that is needed at the end is a warning", func(t *testing.T) {
		r := w.pipelined(t, runner, "operator", variables, map[string]string{
			"operator-ssh-db-apply": "0", "operator-ssh-web-apply": "0", "operator-ssh-forge-apply": "0",
			"operator-dns-apply": "0", "operator-registrars-apply": "0", "operator-netbox-apply": "6",
		})
		said, ended := r.run(t)
		assert.NilError(t, ended)
		assert.Assert(t, strings.Contains(said, "WARN  operator-netbox-apply"), said)
		started := r.started(t)
		assert.Equal(t, len(started), 6)
		assert.Equal(t, started[0], "operator-ssh-db-apply")
		assert.DeepEqual(t, started[3:], []string{"operator-dns-apply", "operator-registrars-apply", "operator-netbox-apply"})
	})

	// Each job is in a folder of its own, with what it is handed of others.
	t.Run("an effect sees the addresses that machines' jobs recorded", func(t *testing.T) {
		octodns := t.TempDir()
		for _, name := range []string{"octodns-sync", "octodns-validate", "octodns-dump"} {
			assert.NilError(t, os.Symlink("/bin/true", filepath.Join(octodns, name))) // the rendering is ours
		}
		given := map[string]any{
			"DNS_DOMAIN": "example.org", "CACHE_DIR": w.env["CACHE_DIR"], "DNS_OCTODNS": filepath.Join(octodns, "octodns-sync"),
			"REGISTRAR": "gandi", "DELEGATION_NAME_SERVERS": "ns.example.net", "DELEGATION_DNSKEY": "none",
			"WEB_ADDRESSES": "192.0.2.7",
		}
		r := w.pipelined(t, runner, "operator-tf-combined-validate", given, nil)
		leave := func(machine string, addresses ...string) {
			record := &report.Record{
				Version: 1, Program: "operator-tf-" + machine + "-validate", Group: "operator", Method: "tf", Machine: machine,
				Verb: "validate", Addresses: addresses,
			}
			assert.NilError(t, record.Write(filepath.Join(r.outside, "record-"+record.Program), nil))
		}
		leave("db")
		leave("web", "192.0.2.99")
		leave("forge", "192.0.2.9")
		said, ended := r.run(t, "--shell-isolation")
		assert.NilError(t, ended)
		assert.Assert(t, strings.Contains(said, "forge has the address 192.0.2.9, as the record of its deployment tells"), said)
		assert.Assert(t, !strings.Contains(said, "192.0.2.99"), said) // somebody named another
		text, err := os.ReadFile(filepath.Join(r.dir, ".gitlab-ci-local", "artifacts", "operator-dns-validate", "operator-dns-validate.json"))
		assert.NilError(t, err)
		var record report.Record
		assert.NilError(t, json.Unmarshal(text, &record))
		assert.Equal(t, record.ExitCode, report.Healthy)

		// The job of a machine that left no record has told nothing of it.
		assert.NilError(t, os.WriteFile(filepath.Join(r.outside, "record-operator-tf-forge-validate"), nil, 0o600))
		said, ended = r.run(t, "--shell-isolation")
		assert.Assert(t, ended != nil)
		assert.Assert(t, strings.Contains(said, "operator-tf-forge-validate.json"), said)
	})
}
