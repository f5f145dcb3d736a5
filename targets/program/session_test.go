package program

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

func TestOneProgram(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.do = func(_ context.Context, task *work, run *task.Run) error {
		run.Log.In("copy").Infof("%d paths", 3)
		_, err := fmt.Fprintf(run.Out, "result of %s %s\n", task.machine, task.verb)
		return err
	}
	got := w.run(t.Context(), nil, "ssh-web-plan")
	assert.NilError(t, got.err)
	assert.Equal(t, got.out, "result of web plan\n", "results and nothing else")
	assert.Equal(t, got.log, "["+w.name("ssh-web-plan")+"] copy: 3 paths\n["+w.name("ssh-web-plan")+"] done after 0.0 s\n")
	assert.DeepEqual(t, w.ssh.seen(), []string{"start web plan", "end web plan"})
}

func TestTheErrorOfATaskSaysItsExitCode(t *testing.T) {
	for _, code := range []report.Code{1, 3, 4, 5, 6, 75} {
		t.Run(code.String(), func(t *testing.T) {
			w := newWorld(t, machine("web"))
			fault := &report.Fault{Code: code, What: "deploy", Why: errors.New("because")}
			w.ssh.do = func(context.Context, *work, *task.Run) error { return fault }
			got := w.run(t.Context(), nil, "ssh-web")
			assert.Equal(t, report.CodeOf(got.err), code)
			assert.ErrorIs(t, got.err, fault)
			status, ok := got.err.(interface{ ExitStatus() int })
			assert.Assert(t, ok, "Mage asks %T", got.err)
			assert.Equal(t, status.ExitStatus(), int(code))
		})
	}
}

func TestTheSystemOfAMachineIsAProgram(t *testing.T) {
	w := newWorld(t, machine("web"))
	assert.NilError(t, w.run(t.Context(), nil, "web").err)
	assert.Assert(t, cmp.Len(w.ssh.seen(), 0), "the method has nothing to do with it")
}

func TestProgramsRunOneAfterAnother(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	assert.NilError(t, w.run(t.Context(), nil, "ssh-web-plan", "ssh-mail-plan", "ssh-web").err)
	assert.DeepEqual(t, w.ssh.seen(), []string{
		"start web plan", "end web plan", "start mail plan", "end mail plan", "start web apply", "end web apply",
	})
}

func TestTheFirstThatFailsEndsTheRun(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.do = func(context.Context, *work, *task.Run) error { return report.Refuse("deploy", errors.New("no"), "") }
	got := w.run(t.Context(), nil, "ssh-web", "ssh-mail")
	assert.Equal(t, report.CodeOf(got.err), report.Refused)
	assert.DeepEqual(t, w.ssh.starts(), []string{"web"})
}

func TestUnknownNamesStartNothing(t *testing.T) {
	w := newWorld(t, machine("web"))
	target := strings.ReplaceAll(w.group, "-", "") + ":sshWbePlan"
	got := w.runNames(t.Context(), nil, w.name("ssh-web"), w.name("ssh-wbe"), "nobody-knows-this", target)
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	for _, want := range []string{
		`unknown program "` + w.name("ssh-wbe") + `"; close are ` + w.name("ssh-web"),
		`unknown program "nobody-knows-this"`, `unknown program "` + target + `"; close are ` + w.group + ":sshWebPlan",
	} {
		assert.ErrorContains(t, got.err, want)
	}
	assert.DeepEqual(t, report.Hints(got.err), []string{"slipway list shows every program"})
	assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
}

func TestResolveAsksForNothingElse(t *testing.T) {
	w := newWorld(t, machine("web"))
	assert.NilError(t, w.registry.Resolve(callsOf(w.name("ssh-web"), w.name("all-plan"))...))
	assert.NilError(t, w.registry.Resolve())
	assert.ErrorContains(t, w.registry.Resolve(Call{Name: "x"}), `look up the programs: unknown program "x"`)
}

func TestAProgramRunsOnce(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	got := w.run(t.Context(), nil, "ssh-web", "ssh-web-apply", "all", "ssh-all-apply", "combined")
	assert.NilError(t, got.err)
	assert.Assert(t, cmp.Len(w.ssh.seen(), 4), "%v", w.ssh.seen())
	assert.DeepEqual(t, w.ssh.starts(), []string{"mail", "web"})
}

func TestAProgramThatFailedIsNotTriedAgain(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.do = func(_ context.Context, task *work, _ *task.Run) error {
		if task.machine == "web" {
			return report.Refuse("deploy", errors.New("no"), "")
		}
		return nil
	}
	w.run(t.Context(), nil, "all", "ssh-web")
	assert.DeepEqual(t, w.ssh.starts(), []string{"mail", "web"})
}

func TestSessionsOfOneProcessAreIndependent(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	defer func() { assert.Assert(t, recover() == nil, "a second session must not panic") }()
	for range 2 {
		assert.NilError(t, w.run(t.Context(), nil, "all").err)
	}
	assert.DeepEqual(t, w.ssh.starts(), []string{"mail", "mail", "web", "web"})
}

func TestSeparateProgramsNeedNotEachOther(t *testing.T) {
	w := newWorld(t, machine("web", "db"), internal("db"))
	got := w.run(t.Context(), nil, "ssh-web", "combined")
	assert.NilError(t, got.err)
	assert.DeepEqual(t, w.ssh.seen()[:2], []string{"start web apply", "end web apply"})
}

func TestEveryProblemOfEveryMemberAtOnce(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail-1"), internal("db"))
	w.ssh.keys = withHostKeys
	got := w.run(t.Context(), map[string]string{
		"WEB_FAKE_PORT": "http", "MAIL_1_FAKE_HOST": "two words", "FAKE_PORT": "0",
	}, "combined")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	for _, want := range []string{
		"WEB_FAKE_HOST: missing", "DB_FAKE_HOST: missing", `MAIL_1_FAKE_HOST: "two words"`, `WEB_FAKE_PORT: "http"`, `FAKE_PORT: "0"`,
		"name or address of the machine", "port number from 1 to 65535",
	} {
		assert.ErrorContains(t, got.err, want)
	}
	var problems *env.Problems
	assert.Assert(t, errors.As(got.err, &problems))
	assert.Assert(t, cmp.Len(problems.List, 5), "%v", got.err)
	assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
}

func TestEveryProblemOfEveryProgramAtOnce(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.keys = withHostKeys
	got := w.run(t.Context(), map[string]string{"WEB_FAKE_HOST": "web.example"}, "ssh-web", "ssh-mail")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.ErrorContains(t, got.err, "FAKE_HOST: missing")
	assert.Assert(t, cmp.Len(w.ssh.seen(), 0), "the first program must not start")
}

func TestCoordinatesOfOneMachineAndOfMany(t *testing.T) {
	for _, c := range []struct {
		name      string
		program   string
		variables map[string]string
		want      map[string]string // host by machine; nil means refused
	}{
		{"a plain key serves a machine alone", "ssh-web", map[string]string{"FAKE_HOST": "plain"}, map[string]string{"web": "plain"}},
		{
			"the machine's own wins", "ssh-web",
			map[string]string{"FAKE_HOST": "plain", "WEB_FAKE_HOST": "own"},
			map[string]string{"web": "own"},
		},
		{"a plain key serves none of many", "all", map[string]string{"FAKE_HOST": "plain", "WEB_FAKE_HOST": "own"}, nil},
		{
			"each of many has its own", "all",
			map[string]string{"WEB_FAKE_HOST": "one", "DB_1_FAKE_HOST": "two"},
			map[string]string{"web": "one", "db-1": "two"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web"), machine("db-1"))
			w.ssh.keys = withHostKeys
			w.ssh.do = func(_ context.Context, task *work, run *task.Run) error {
				keys := task.keys[0].(*hostKeys)
				_, err := fmt.Fprintf(run.Out, "%s=%s:%d\n", task.machine, keys.Host, keys.Port)
				return err
			}
			got := w.run(t.Context(), c.variables, c.program)
			if c.want == nil {
				assert.Equal(t, report.CodeOf(got.err), report.Usage)
				return
			}
			assert.NilError(t, got.err)
			for machine, host := range c.want {
				assert.Assert(t, cmp.Contains(got.out, machine+"="+host+":22\n"))
			}
		})
	}
}

func TestATypoIsAWarning(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.keys = withHostKeys
	got := w.run(t.Context(), map[string]string{"WEB_FAKE_HOST": "web.example", "WEB_FAKE_PROT": "2222", "PARALELISM": "3"}, "ssh-web")
	assert.NilError(t, got.err)
	assert.Assert(t, cmp.Contains(got.log, "warning: "))
	assert.Assert(t, cmp.Contains(got.log, "WEB_FAKE_PROT"))
	assert.Assert(t, cmp.Contains(got.log, "PARALELISM"))
}

func TestATypoOfWhatIsMissingIsTold(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.keys = withHostKeys
	got := w.run(t.Context(), map[string]string{"FAKE_HOSTT": "web.example"}, "ssh-web")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.ErrorContains(t, got.err, "FAKE_HOST: missing")
	assert.Assert(t, cmp.Contains(got.log, "FAKE_HOSTT is set but not declared; did you mean FAKE_HOST?"))
}

func TestKeysOfAProgram(t *testing.T) {
	w := newWorld(t, machine("web"), internal("db"))
	w.ssh.keys = withHostKeys
	for _, rest := range []string{"ssh-web", "all", "combined-plan"} {
		t.Run(rest, func(t *testing.T) {
			p, ok := w.registry.Find(w.name(rest))
			assert.Assert(t, ok)
			keys, err := w.registry.Keys(p)
			assert.NilError(t, err)
			var names []string
			for _, key := range keys {
				names = append(names, key.Name)
			}
			assert.DeepEqual(t, names, []string{
				"CACHE_DIR", "FAKE_HOST", "FAKE_PORT", "FAKE_TOKEN", "NO_COLOR", "OPERATOR_MODULE_SOURCE", "PARALLELISM", "PIN_EFFECT",
				"PROGRESS", "REPORT", "REPORT_HTML", "SELF_MODULE_SOURCE", "SSH_AUTH_SOCK", "VERSION_LAYERS",
			})
		})
	}
	assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
}

func TestMalformedKeysOfTheSession(t *testing.T) {
	for name, words := range map[string][]string{"of a program": {"ssh-web"}, "of no program": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, machine("web"))
			got := w.run(t.Context(), map[string]string{"PARALLELISM": "0", "PROGRESS": "loud", "REPORT": "/no/folder/record.json"}, words...)
			assert.Equal(t, report.CodeOf(got.err), report.Usage)
			for _, key := range []string{"3 environment keys are", "PARALLELISM", "PROGRESS", "REPORT: "} {
				assert.ErrorContains(t, got.err, key)
			}
			assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
		})
	}
}

func TestMalformedKeysOfTheSessionAndOfItsPrograms(t *testing.T) {
	w := newWorld(t, machine("web"))
	w.ssh.keys = withHostKeys
	dir := t.TempDir()
	got := w.run(t.Context(), map[string]string{"PARALLELISM": "0", "REPORT": dir + "/record.json", "REPORT_HTML": dir + "/no/page.html"}, "ssh-web")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	for _, key := range []string{"PARALLELISM", "REPORT_HTML", "FAKE_HOST: missing"} {
		assert.ErrorContains(t, got.err, key)
	}
	assert.Equal(t, recordAt(t, dir+"/record.json").ExitCode, report.Usage, "it is told where that can be told")

	got = w.run(t.Context(), map[string]string{"PARALLELISM": "0", "SELF_MODULE_SOURCE": dir + "/no/modules"}, "ssh-web")
	assert.Equal(t, report.CodeOf(got.err), report.Usage)
	assert.ErrorContains(t, got.err, "PARALLELISM")
	assert.ErrorContains(t, got.err, dir+"/no/modules", "what is read follows from it")
}

func TestProgressForms(t *testing.T) {
	for _, c := range []struct {
		name     string
		progress string
		terminal bool
		check    func(t *testing.T, log string)
	}{
		{"JSON", "json", true, func(t *testing.T, log string) {
			var kinds []report.Kind
			for line := range strings.Lines(log) {
				var e report.Event
				assert.NilError(t, json.Unmarshal([]byte(line), &e))
				kinds = append(kinds, e.Kind)
			}
			assert.DeepEqual(t, kinds, []report.Kind{report.KindStart, report.KindLine, report.KindEnd})
			assert.Assert(t, cmp.Contains(log, `"text":"hello"`))
		}},
		{"plain", "plain", true, func(t *testing.T, log string) { assert.Assert(t, !strings.ContainsRune(log, 0x1b)) }},
		{"by itself on a terminal", "", true, func(t *testing.T, log string) { assert.Assert(t, strings.ContainsRune(log, 0x1b)) }},
		{"by itself elsewhere", "", false, func(t *testing.T, log string) { assert.Assert(t, !strings.ContainsRune(log, 0x1b)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, machine("web"))
			w.ssh.do = func(_ context.Context, _ *work, run *task.Run) error { run.Log.Infof("hello"); return nil }
			var log bytes.Buffer
			to := Streams{Out: &bytes.Buffer{}, Err: &log}
			if c.terminal {
				to.Size = func() (int, int) { return 80, 24 }
			}
			session, err := w.registry.NewSession(t.Context(), env.Map(map[string]string{"PROGRESS": c.progress}), to)
			assert.NilError(t, err)
			assert.NilError(t, session.Run(t.Context(), callsOf(w.name("ssh-web"))...))
			session.Close()
			c.check(t, log.String())
		})
	}
}

func TestAnEndedContextStartsNothing(t *testing.T) {
	for _, c := range []struct {
		signal syscall.Signal
		code   report.Code
	}{{syscall.SIGINT, report.Interrupted}, {syscall.SIGTERM, report.Terminated}} {
		for _, rest := range []string{"ssh-web", "all", "combined"} {
			t.Run(fmt.Sprintf("%s by %s", rest, c.signal), func(t *testing.T) {
				w := newWorld(t, machine("web", "db"), machine("mail"), internal("db"))
				ctx, cancel := context.WithCancelCause(t.Context())
				cancel(&report.Interruption{Signal: c.signal})
				got := w.run(ctx, nil, rest)
				assert.Equal(t, report.CodeOf(got.err), c.code)
				assert.ErrorContains(t, got.err, "not started")
				assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
			})
		}
	}
}

func TestAPanicIsAnError(t *testing.T) {
	w := newWorld(t, machine("web"), machine("mail"))
	w.ssh.do = func(_ context.Context, task *work, _ *task.Run) error {
		if task.machine == "web" {
			var none map[string]int
			none["x"] = 1 //nolint:govet,staticcheck // the panic is the point
		}
		return nil
	}
	for _, rest := range []string{"ssh-web", "all-plan", "combined-destroy"} {
		t.Run(rest, func(t *testing.T) {
			got := w.run(t.Context(), nil, rest)
			assert.Equal(t, report.CodeOf(got.err), report.Failed)
			assert.Assert(t, cmp.Contains(got.log, "error: panic: assignment to entry in nil map"))
			assert.Assert(t, cmp.Contains(got.log, "session_test.go"), "where it happened")
		})
	}
	assert.DeepEqual(t, w.ssh.starts(), []string{"mail", "mail", "web", "web", "web"}) // the others ran
}

func TestReportThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name      string
		variables map[string]string
		says      []string
	}{
		{"a record in no folder", map[string]string{"REPORT": dir + "/no/record.json"}, []string{"REPORT: ", "no such file"}},
		{"a page in no folder", map[string]string{"REPORT_HTML": dir + "/no/page.html"}, []string{"REPORT_HTML: ", "no such file"}},
		{"both in no folder", map[string]string{"REPORT": dir + "/no/1", "REPORT_HTML": dir + "/no/2"}, []string{"REPORT: ", "REPORT_HTML: "}},
		{"a folder", map[string]string{"REPORT_HTML": dir}, []string{"REPORT_HTML: ", "is there and is no file"}},
		{"both one file", map[string]string{"REPORT": dir + "/x", "REPORT_HTML": dir + "/./x"}, []string{"REPORT_HTML: the file that REPORT names"}},
	} {
		t.Run(c.name+" is known before anything starts", func(t *testing.T) {
			w := newWorld(t, machine("web"))
			got := w.run(t.Context(), c.variables, "ssh-web")
			assert.Equal(t, report.CodeOf(got.err), report.Usage)
			for _, text := range c.says {
				assert.ErrorContains(t, got.err, text)
			}
			assert.Assert(t, cmp.Len(w.ssh.seen(), 0))
		})
	}
	t.Run("found out at the end", func(t *testing.T) {
		w := newWorld(t, machine("web"))
		record, page := filepath.Join(t.TempDir(), "record.json"), filepath.Join(t.TempDir(), "page.html")
		w.ssh.do = func(context.Context, *work, *task.Run) error { return os.Mkdir(record, 0o700) }
		got := w.run(t.Context(), map[string]string{"REPORT": record, "REPORT_HTML": page}, "ssh-web")
		assert.ErrorContains(t, got.err, "write record")
		assert.Equal(t, report.CodeOf(got.err), report.Failed)
		assert.Assert(t, cmp.Contains(pageAt(t, page), "</html>"), "the other file is written nevertheless")
	})
}

func TestWhatWasNotStartedHasARecord(t *testing.T) {
	for _, rest := range []string{"ssh-web", "ssh-wbe"} {
		w := newWorld(t, machine("web"))
		w.ssh.keys = withHostKeys
		path := filepath.Join(t.TempDir(), "record.json")
		s, err := w.registry.NewSession(t.Context(), env.Map(map[string]string{"REPORT": path}), Streams{Out: io.Discard, Err: io.Discard})
		assert.NilError(t, err)
		assert.Equal(t, report.CodeOf(s.Check(t.Context(), callsOf(w.name(rest))...)), report.Usage)
		assert.Equal(t, recordAt(t, path).ExitCode, report.Usage)
	}
}
