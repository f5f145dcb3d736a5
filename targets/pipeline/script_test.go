package pipeline_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/contract"
	"fediversity.eu/slipway/targets/pipeline"
	"fediversity.eu/slipway/targets/report"
)

// written is the pipeline of the club for a system, read back.
func written(t *testing.T, write func(*pipeline.Pipeline) ([]byte, error), into any) {
	t.Helper()
	r := club(t)
	c, err := contract.New(r)
	assert.NilError(t, err)
	made, err := pipeline.New(r, c, "club", pipeline.Keys{Command: "club"})
	assert.NilError(t, err)
	text, err := write(made)
	assert.NilError(t, err)
	assert.NilError(t, yaml.Unmarshal(text, into))
}

// TestWhatAJobOfActionsMakesOfExitCodes runs the scripts of jobs, with a program
// that ends as told and a sleep that only says for how long.
func TestWhatAJobOfActionsMakesOfExitCodes(t *testing.T) {
	var file struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	written(t, (*pipeline.Pipeline).GitHub, &file)
	const needed, last = "club-fake-db-1-apply", "club-bell-apply"
	for _, c := range []struct {
		name, job, codes string
		ends             report.Code
		says             []string
	}{
		{"healthy", needed, "0", report.Healthy, nil},
		{"failed", last, "1", report.Failed, nil},
		{"busy, and then healthy", needed, "75 0", report.Healthy, []string{"busy: once more in 60 seconds", "slept 60"}},
		{"busy, and then failed", last, "75 3", report.Unhealthy, []string{"busy: once more in 60 seconds", "slept 60"}},
		{"busy for good", last, "75 75 75 0", report.Busy, []string{
			"busy: once more in 60 seconds", "slept 60", "busy: once more in 120 seconds", "slept 120",
		}},
		{"reboot needed at the end", last, "6", report.Healthy, []string{
			"::warning::" + last + " ended with exit code 6: only a reboot brings in all of the new system",
		}},
		{"reboot needed before others", needed, "6", report.RebootNeeded, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put := func(name, text string) {
				assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700))
			}
			put("codes", strings.ReplaceAll(c.codes, " ", "\n")+"\n")
			put("club", "#!/bin/sh\ntest \"$*\" = "+c.job+" || exit 99\ncode=$(head -n 1 codes)\nsed -i 1d codes\nexit $code\n")
			put("sleep", "#!/bin/sh\necho slept $1\n")
			said, code := shell(t, "sh", dir, []string{"PATH=" + dir + ":/usr/bin:/bin"}, file.Jobs[c.job].Steps[1].Run)
			assert.Equal(t, code, c.ends)
			assert.Equal(t, said, strings.Join(append(slices.Clone(c.says), ""), "\n"))
		})
	}
}

// TestAJobOfActionsThatIsCancelledInterruptsItsProgram signals the shell of a job
// alone, as the systems do.
func TestAJobOfActionsThatIsCancelledInterruptsItsProgram(t *testing.T) {
	var file struct {
		Jobs map[string]struct{ Steps []struct{ Run string } }
	}
	written(t, (*pipeline.Pipeline).GitHub, &file)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// It ends some time after it was told to, as a run does that gives a lock back.
			text := "#!/bin/bash\ntrap 'read -t 0.2 <>pipe; echo gave back; exit 143' TERM\necho runs\nwhile :; do read -t 0.05 <>pipe; done\n"
			assert.NilError(t, os.WriteFile(filepath.Join(dir, "club"), []byte(text), 0o700))
			assert.NilError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			job := exec.CommandContext(ctx, "bash", "-e", "-c", file.Jobs["club-fake-web-apply"].Steps[1].Run)
			job.Dir, job.Env = dir, []string{"PATH=" + dir + ":/usr/bin:/bin"}
			job.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			job.Cancel = func() error { return syscall.Kill(-job.Process.Pid, syscall.SIGKILL) }
			out, err := job.StdoutPipe()
			assert.NilError(t, err)
			assert.NilError(t, job.Start())
			said := bufio.NewReader(out)
			line, err := said.ReadString('\n')
			assert.NilError(t, err)
			assert.Equal(t, line, "runs\n")
			assert.NilError(t, job.Process.Signal(signal))
			line, err = said.ReadString('\n')
			assert.NilError(t, err)
			assert.Equal(t, line, "gave back\n")
			failure, ok := errors.AsType[*exec.ExitError](job.Wait())
			assert.Assert(t, ok)
			assert.Equal(t, report.Code(failure.ExitCode()), report.Terminated)
		})
	}
}

// TestAJobOfGitLabDropsWhatIsNotItsOwn runs what a job begins with, in each shell
// that there is.
func TestAJobOfGitLabDropsWhatIsNotItsOwn(t *testing.T) {
	var file struct {
		Default struct {
			Before []string `yaml:"before_script"`
		}
		Web struct{ Variables map[string]string } `yaml:"club-fake-web-apply"`
	}
	written(t, (*pipeline.Pipeline).GitLab, &file)
	environment := []string{
		"PATH=/usr/bin:/bin", "HOME=/home/x", "CI_JOB_ID=1", "DB_1_FAKE_TOKEN=hush", "FAKE_HOST=plain", "Lower_case=1",
		"WEB_FAKE_HOST=web.example.org", "WEB_FAKE_TOKEN=two\nDB_1_FAKE_HOST=lines $(touch x) 'and' \"quotes\"",
		"odd.name=1", "BASH_FUNC_f%%=() { :; }", "SLIPWAY_VARIABLES=" + file.Web.Variables["SLIPWAY_VARIABLES"],
	}
	for _, one := range []string{"sh", "bash", "dash"} {
		if _, err := child.Find(one, environment); err != nil {
			continue // what runs a job is its runner's; sh is always there
		}
		said, code := shell(t, one, t.TempDir(), environment, file.Default.Before[0]+"\nenv -0\n")
		assert.Equal(t, code, report.Healthy)
		var names []string
		for pair := range strings.SplitSeq(said, "\x00") {
			name, value, _ := strings.Cut(pair, "=")
			names = append(names, name)
			if name == "WEB_FAKE_TOKEN" {
				assert.Equal(t, value, "two\nDB_1_FAKE_HOST=lines $(touch x) 'and' \"quotes\"")
			}
		}
		for _, name := range []string{"PATH", "HOME", "WEB_FAKE_HOST", "WEB_FAKE_TOKEN"} {
			assert.Assert(t, slices.Contains(names, name), "%s: %s", one, name)
		}
		for _, name := range []string{"CI_JOB_ID", "DB_1_FAKE_TOKEN", "FAKE_HOST", "Lower_case", "SLIPWAY_VARIABLES"} {
			assert.Assert(t, !slices.Contains(names, name), "%s: %s", one, name)
		}
	}
}

// shell runs a script as the systems do, where a command that fails ends it.
func shell(t *testing.T, name, dir string, environment []string, script string) (string, report.Code) {
	t.Helper()
	var said bytes.Buffer
	err := child.Command{Path: name, Args: []string{"-e", "-c", script}, Dir: dir, Env: environment, Stdout: &said}.Run(t.Context())
	if failure, ok := errors.AsType[*child.Error](err); ok {
		return said.String(), report.Code(failure.ExitCode)
	}
	assert.NilError(t, err)
	return said.String(), report.Healthy
}
