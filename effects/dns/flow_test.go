package dns

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/fs"

	"fediversity.eu/slipway/effects/address"
	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
	"fediversity.eu/slipway/targets/task"
)

// fake is an octodns-sync that notes how it was called and then does what the
// steps say, one a call; a call too many fails.
type fake struct {
	t   *testing.T
	dir *fs.Dir
}

func newFake(t *testing.T, steps ...string) *fake {
	t.Helper()
	f := &fake{t: t, dir: fs.NewDir(t, "octodns")}
	for i, step := range steps {
		assert.NilError(t, os.WriteFile(f.dir.Join(fmt.Sprintf("step%d", i+1)), []byte(step), 0o600))
	}
	script := `#!/bin/sh
n=1; while [ -e "$0.$n" ]; do n=$((n+1)); done
{ echo "$@"; env; } > "$0.$n"
. ` + f.dir.Path() + "/step$n\n"
	assert.NilError(t, os.WriteFile(f.dir.Join("octodns-sync"), []byte(script), 0o700))
	return f
}

// call gives the arguments and the environment of a call.
func (f *fake) call(n int) (arguments string, environment []string) {
	f.t.Helper()
	text, err := os.ReadFile(f.dir.Join(fmt.Sprintf("octodns-sync.%d", n)))
	assert.NilError(f.t, err)
	arguments, rest, _ := strings.Cut(string(text), "\n")
	return arguments, strings.Split(strings.TrimSpace(rest), "\n")
}

func (f *fake) calls() int {
	list, err := filepath.Glob(f.dir.Join("octodns-sync.*"))
	assert.NilError(f.t, err)
	return len(list)
}

// workspace is one in which the fake serves.
func (f *fake) workspace(log *report.Log) *workspace {
	return &workspace{
		dir: f.t.TempDir(), commands: commands{dir: f.dir.Path()}, limit: time.Minute, env: []string{"PATH=/usr/bin:/bin"}, log: log,
	}
}

const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// looks is a step that shows a plan.
func looks(checksum, changes string) string {
	text := "echo '{\"live\":{\"example.org.\":{\"changes\":[" + changes + "]}}}' > plan.json\n"
	if checksum != "" {
		text += "echo 'time [1] INFO  Checksum checksum=" + checksum + "' >&2\n"
	}
	return text
}

const (
	creates = `{"type":"create","name":"web","record_type":"A","new":{"ttl":3600,"value":"192.0.2.7"}}`
	fails   = "echo 'Traceback' >&2; echo 'octodns_bind.Rfc2136ProviderUpdateFailed: Unable to perform update: REFUSED' >&2; exit 1\n"
	down    = "echo 'ConnectionRefusedError: [Errno 111] Connection refused' >&2; exit 1\n"
)

// run applies a group of two records, of which mail is there already.
func (f *fake) run(ctx context.Context, verb string) (*report.Record, string, error) {
	f.t.Helper()
	group := groups.Group{Name: "g", Zones: []groups.Zone{{}}, Machines: []groups.Machine{
		{Name: "web", Addresses: []string{"192.0.2.7"}}, {Name: "mail", Addresses: []string{"192.0.2.25"}},
	}}
	environment := env.Map(map[string]string{
		"PATH": "/usr/bin:/bin", "DNS_DOMAIN": "example.org", "DNS_PROVIDER": "powerdns", "DNS_API": "http://127.0.0.1:1",
		"DNS_TOKEN": "sesame-open", "DNS_OCTODNS": f.dir.Join("octodns-sync"), "UNDECLARED": "x", "CACHE_DIR": f.dir.Path(),
	})
	effect := New().Task(group, verb)
	assert.NilError(f.t, environment.Load(f.t.Context(), env.For{}, effect.Coordinates()...))
	assert.NilError(f.t, effect.(task.Checker).Check(environment))
	var out, log bytes.Buffer
	record := &report.Record{}
	err := effect.Run(ctx, &task.Run{Environment: environment, Log: report.NewLog(report.Plain(&log)), Out: &out, Record: record})
	assert.Assert(f.t, !strings.Contains(out.String()+log.String(), "sesame-open"))
	left, globbed := filepath.Glob(filepath.Join(os.TempDir(), "slipway-dns-*"))
	assert.NilError(f.t, globbed)
	assert.Assert(f.t, cmp.Len(left, 0), "the folder with the zones is gone")
	return record, out.String(), err
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		what    string
		steps   []string
		code    report.Code
		why     string
		changed bool
	}{
		{"nothing to change", []string{looks("", "")}, report.Healthy, "", false},
		{"a change", []string{looks(sum, creates), "", looks("", "")}, report.Healthy, "", true},
		{"a plan without a checksum", []string{looks("", creates)}, report.Failed, "it gave no checksum", false},
		{"a plan that is none", []string{"echo nonsense > plan.json"}, report.Failed, "read the plan of OctoDNS", false},
		{"no plan", []string{""}, report.Failed, "read the plan of OctoDNS", false},
		{"a look that fails", []string{down}, report.Unknown, "nobody answers", false},
		{"a change that is refused", []string{looks(sum, creates), fails, looks(sum, creates)}, report.Refused, "does not let this key do that", false},
		{"a change of which a part is refused", []string{looks(sum, creates), fails, looks(strings.Repeat("f", 64), creates)}, report.Failed, "only some of it was changed", true},
		{"a change that fails after all was done", []string{looks(sum, creates), fails, looks("", "")}, report.Failed, "the servers hold everything", true},
		{"a change in which contact is lost", []string{looks(sum, creates), down, down}, report.Unknown, "what came of it can't be seen", true},
		{"somebody else is faster", []string{looks(sum, creates), "echo 'octodns.manager.ManagerException: checksum=a does not match computed=b' >&2; exit 1"}, report.Busy, "changed by somebody else", false},
		{"contact is lost after the change", []string{looks(sum, creates), "", down}, report.Unknown, "look at the zones again", true},
	} {
		t.Run(c.what, func(t *testing.T) {
			f := newFake(t, c.steps...)
			t.Setenv("TMPDIR", t.TempDir())
			record, _, err := f.run(t.Context(), "apply")
			assert.Equal(t, report.CodeOf(err), c.code, "%v", err)
			if c.why != "" {
				assert.ErrorContains(t, err, c.why)
			}
			assert.Equal(t, record.Changed, c.changed)
			assert.Equal(t, f.calls(), len(c.steps))
		})
	}
}

func TestAServerThatWritesValuesInAnotherWay(t *testing.T) {
	steps := []string{looks(sum, creates), ""}
	for range 20 {
		steps = append(steps, looks(sum, creates))
	}
	f := newFake(t, steps...)
	t.Setenv("TMPDIR", t.TempDir())
	record, out, err := f.run(t.Context(), "apply")
	assert.Equal(t, report.CodeOf(err), report.Failed)
	assert.ErrorContains(t, err, "they hold something else")
	assert.Assert(t, record.Changed)
	assert.Equal(t, strings.Count(out, "+ web A 3600 192.0.2.7"), 2, "what is left is shown")
}

func TestWhatOctoDNSIsGiven(t *testing.T) {
	f := newFake(t, looks(sum, creates)+"cat config.json zones/example.org.yaml > "+"$0.config\n", "", looks("", ""))
	t.Setenv("TMPDIR", t.TempDir())
	_, _, err := f.run(t.Context(), "apply")
	assert.NilError(t, err)

	look, variables := f.call(1)
	assert.Assert(t, strings.HasSuffix(look, "config.json --force --quiet"), look)
	change, _ := f.call(2)
	assert.Assert(t, strings.HasSuffix(change, "config.json --doit --checksum "+sum+" --quiet"), "no force: %s", change)
	assert.Assert(t, !strings.Contains(look+change, "sesame-open"))
	var names []string
	for _, pair := range variables {
		name, _, _ := strings.Cut(pair, "=")
		if name != "PWD" && name != "_" && name != "SHLVL" { // the shell's own
			names = append(names, name)
		}
	}
	assert.DeepEqual(t, names, []string{"DNS_TOKEN", "PATH", "PYTHONPATH"})
	config, err := os.ReadFile(f.dir.Join("octodns-sync.config"))
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(string(config), "sesame-open"))
	for _, want := range []string{`"api_key":"env/DNS_TOKEN"`, `"enforce_order":false`, `"escaped_semicolons":false`, `"enable_checksum":true`, `"AcmeManagingProcessor"`, `"web":[{"ttl":3600,"type":"A","values":["192.0.2.7"]}]`} {
		assert.Check(t, cmp.Contains(strings.ReplaceAll(string(config), "octodns.processor.acme.", ""), want))
	}
}

func TestForceIsForNameServersAlone(t *testing.T) {
	for changes, want := range map[string]bool{creates: false, otherNS: true} {
		f := newFake(t, "")
		w := f.workspace(nil)
		plan, _ := planOf(t, 2, changes)
		assert.NilError(t, w.change(t.Context(), plan))
		arguments, _ := f.call(1)
		assert.Equal(t, strings.Contains(arguments, "--force"), want)
	}
}

// TestDumpFindsItsFile has an octodns-dump that calls its files as the real one does,
// and makes no folder but the one that it is told.
func TestDumpFindsItsFile(t *testing.T) {
	for name, file := range map[string]string{
		"example.org.":               "example.org.yaml",
		"xn--bcher-kva.example.":     "bücher.example.yaml",
		"0/25.2.0.192.in-addr.arpa.": "0/25.2.0.192.in-addr.arpa.yaml",
	} {
		f := newFake(t)
		assert.NilError(t, os.WriteFile(f.dir.Join("octodns-dump"), []byte(`#!/bin/sh
test "$5" = --output-dir && test "$7 $8" = "`+name+` live" && echo held > "$6/`+file+`"
`), 0o700))
		w := f.workspace(nil)
		for number := range 2 {
			text, err := w.dump(t.Context(), number, zone{name: name})
			assert.NilError(t, err, name)
			assert.Equal(t, text, "held\n")
		}
	}
	f := newFake(t)
	assert.NilError(t, os.WriteFile(f.dir.Join("octodns-dump"), []byte("#!/bin/sh\n"), 0o700))
	_, err := f.workspace(nil).dump(t.Context(), 0, zone{name: "example.org."})
	assert.ErrorContains(t, err, "read the dump of example.org.: OctoDNS wrote 0 files for it")
}

func TestAnInterruptionIsOne(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&report.Interruption{Signal: syscall.SIGTERM})
	f := newFake(t, looks(sum, creates))
	t.Setenv("TMPDIR", t.TempDir())
	record, _, err := f.run(ctx, "apply")
	assert.Equal(t, report.CodeOf(err), report.Terminated)
	assert.Assert(t, !record.Changed)
}

func TestFailuresAreToldApart(t *testing.T) {
	for said, want := range map[string]report.Code{
		"octodns_bind.AxfrSourceZoneTransferFailed: Unable to Perform Zone Transfer: The peer didn't like the signature we sent":      report.Refused,
		"octodns_bind.AxfrSourceZoneTransferFailed: Unable to Perform Zone Transfer: The peer didn't know the key we used":            report.Refused,
		"octodns_bind.AxfrSourceZoneTransferFailed: Unable to Perform Zone Transfer: Zone transfer error: NOTAUTH":                    report.Refused,
		"Exception: PowerDNS unauthorized host=127.0.0.1":                                                                             report.Refused,
		"octodns_desec.DesecAPIUnauthorized: Unauthorized":                                                                            report.Refused,
		"ConnectionRefusedError: [Errno 111] Connection refused":                                                                      report.Unknown,
		"dns.exception.Timeout: The DNS operation timed out.":                                                                         report.Unknown,
		"socket.gaierror: [Errno -2] Name or service not known":                                                                       report.Unknown,
		"octodns_bind.AxfrSourceZoneTransferFailed: Unable to Perform Zone Transfer: [Errno -3] Temporary failure in name resolution": report.Unknown,
		"octodns_bind.AxfrSourceZoneTransferFailed: Unable to Perform Zone Transfer: [Errno -5] No address associated with hostname":  report.Unknown,
		"OSError: [Errno 100] Network is down":                                                                                        report.Unknown,
		"OSError: [Errno 101] Network is unreachable":                                                                                 report.Unknown,
		"TimeoutError: [Errno 110] Connection timed out":                                                                              report.Unknown,
		"OSError: [Errno 112] Host is down":                                                                                           report.Unknown,
		"OSError: [Errno 113] No route to host":                                                                                       report.Unknown,
		"BrokenPipeError: [Errno 32] Broken pipe":                                                                                     report.Unknown,
		"ConnectionAbortedError: [Errno 103] Software caused connection abort":                                                        report.Unknown,
		"OSError: [Errno 28] No space left on device":                                                                                 report.Refused,
		"OSError: [Errno 122] Disk quota exceeded":                                                                                    report.Refused,
		"OSError: [Errno 5] Input/output error":                                                                                       report.Failed,
		"OSError: [Errno 24] Too many open files":                                                                                     report.Failed,
		"requests.exceptions.ConnectionError: HTTPSConnectionPool: Max retries exceeded":                                              report.Unknown,
		"octodns.provider.SupportsException: live: TLSA records not supported for _443._tcp.a":                                        report.Refused,
		"octodns.manager.ManagerException: Incorrect provider config for live, config.json, line 1":                                   report.Usage,
		"KeyError: 'something that nobody expected'":                                                                                  report.Failed,
		"nothing that looks like a traceback":                                                                                         report.Failed,
	} {
		f := newFake(t, "echo 'Traceback (most recent call last):' >&2; cat >&2 <<'END'\n"+said+"\nEND\nexit 1\n")
		_, err := f.workspace(nil).run(t.Context(), "sync")
		assert.Check(t, cmp.Equal(report.CodeOf(err), want), said)
	}
}

func TestAnExceptionIsShownWhole(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"faults of a record": {
			"Traceback (most recent call last):\n  File \"x\"\noctodns.record.exception.ValidationError: Invalid record \"a.example.org.\"\n  - missing ttl\n  - bad value\n",
			"octodns.record.exception.ValidationError: Invalid record \"a.example.org.\"\n  - missing ttl\n  - bad value",
		},
		"with a log behind": {"a.B: why\n2026-11-29T22:00:00  [140] INFO  Manager end\n", "a.B: why"},
		"without a text":    {"Traceback\nMemoryError\n", "MemoryError"},
		"none":              {"hello\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, whole := exception(c.said)
			assert.Equal(t, whole, c.want)
		})
	}
	killed := &child.Error{Argv: []string{"octodns-sync"}, ExitCode: 137, Err: errors.New("exit status 137")}
	assert.Equal(t, report.CodeOf(octodnsError("octodns.ValidationError: x", killed)), report.Failed, "whoever is killed has refused nothing")
}

func FuzzException(f *testing.F) {
	f.Add("a.B: c\n  - d\n\n2026  [1] INFO x\n")
	f.Add("E: " + strings.Repeat("x\n", 50))
	f.Fuzz(func(t *testing.T, said string) {
		first, whole := exception(said)
		assert.Assert(t, strings.HasPrefix(whole, first) && strings.Count(whole, "\n") <= mostOfText)
	})
}

func TestWarningsAreHandedOn(t *testing.T) {
	f := newFake(t, "echo '2026-11-29T22:00:00  [140] WARNING Rfc2136Provider[live] something is odd' >&2\n")
	var log bytes.Buffer
	_, err := f.workspace(report.NewLog(report.Plain(&log))).run(t.Context(), "sync")
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(log.String(), "something is odd"))
}

func TestALookHasALimit(t *testing.T) {
	f := newFake(t, "exec sleep 1000\n")
	w := f.workspace(nil)
	w.limit = 50 * time.Millisecond
	_, err := w.run(t.Context(), "sync")
	assert.Equal(t, report.CodeOf(err), report.Unknown)
	assert.ErrorContains(t, err, "octodns-sync took longer than 50ms")
}

// TestAnAddressMayComeLater has a machine that gets its address in the run itself,
// as the members of a combined run hand it on.
func TestAnAddressMayComeLater(t *testing.T) {
	group := groups.Group{Machines: []groups.Machine{{Name: "web"}, {Name: "db"}}, Zones: []groups.Zone{
		{Records: []groups.Record{{Type: "MX", Values: []string{"10 web"}}}}, {Name: "192.0.2.0/24"},
	}}
	f := newFake(t)
	assert.NilError(t, os.WriteFile(f.dir.Join("octodns-validate"), []byte("#!/bin/sh\n"), 0o700))
	early := env.Map(map[string]string{"PATH": "/usr/bin:/bin", "DNS_DOMAIN": "example.org", "DNS_OCTODNS": f.dir.Join("octodns-sync")})
	effect := New().Task(group, "validate")
	assert.NilError(t, early.Load(t.Context(), env.For{}, effect.Coordinates()...))
	assert.NilError(t, effect.(task.Checker).Check(early))

	var out bytes.Buffer
	run := &task.Run{Environment: early, Log: report.NewLog(nil), Out: &out, Record: &report.Record{}}
	err := effect.Run(t.Context(), run)
	assert.Equal(t, report.CodeOf(err), report.Refused)
	assert.ErrorContains(t, err, "points at web.example.org., which is machine web, and that has no address")

	keys, err := env.Declared(address.Keys{})
	assert.NilError(t, err)
	assert.Equal(t, keys[0].Name, "ADDRESSES")
	run.Environment, err = early.Give(env.For{Machine: "web"}, keys[0], "192.0.2.7")
	assert.NilError(t, err)
	assert.NilError(t, effect.Run(t.Context(), run))
	assert.Equal(t, out.String(), "2.0.192.in-addr.arpa.: 1 record, no faults\nexample.org.: 2 records, no faults\n")
}
