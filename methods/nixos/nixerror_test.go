package nixos

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// What Nix says, as recorded; 2.8 has no stack before an error, later versions
// have.
const (
	thrown28 = `warning: the group 'nixbld' specified in 'build-users-group' does not exist
error: bad thing
(use '--show-trace' to show detailed location information)
`
	syntax28 = `error: syntax error, unexpected ';'

       at /srv/modules/web.nix:1:9:

            1| let x = ; in x
             |         ^
`
	thrown231 = `error:
       … while calling the 'head' builtin
         at /srv/nixpkgs/lib/attrsets.nix:1696:13:
         1695|           if length values == 1 || pred here (elemAt values 1) (head values) then
         1696|             head values
             |             ^
         1697|           else

       … while evaluating the option ` + "`system.build.toplevel':" + `

       (stack trace truncated; use '--show-trace' to show the full, detailed trace)

       error: The option ` + "`services.web.port'" + ` does not exist. Definition values:
       - In ` + "`/srv/modules/web.nix': 80" + `
`
	nested28 = `these 3 derivations will be built:
  /nix/store/pfcq5pgm956s6ki9wc0nhq4y4b6q4wn6-inner.drv
  /nix/store/rdxrlnnxnpf78jjwdr5nc6wls1wib8m7-middle.drv
  /nix/store/mllxpq8v2lkzvvw68q2216snri8in6n3-outer.drv
building '/nix/store/pfcq5pgm956s6ki9wc0nhq4y4b6q4wn6-inner.drv'...
boom
error: builder for '/nix/store/pfcq5pgm956s6ki9wc0nhq4y4b6q4wn6-inner.drv' failed with exit code 3
error: 1 dependencies of derivation '/nix/store/rdxrlnnxnpf78jjwdr5nc6wls1wib8m7-middle.drv' failed to build
error: 1 dependencies of derivation '/nix/store/mllxpq8v2lkzvvw68q2216snri8in6n3-outer.drv' failed to build
`
)

func TestLastError(t *testing.T) {
	for _, c := range []struct{ name, said, want string }{
		{"a message alone", thrown28, "error: bad thing"},
		{"a message and its place", syntax28, "error: syntax error, unexpected ';'\n\nat /srv/modules/web.nix:1:9:\n\n     1| let x = ; in x\n      |         ^"},
		{"a message behind the way there", thrown231, "error: The option `services.web.port' does not exist. Definition values:\n- In `/srv/modules/web.nix': 80"},
		{"no message", "killed\n", "killed"},
		{"nothing", "", `nix said nothing of use: ""`},
		{"nothing but a line of advice", "(use '--show-trace' to show it)\n", `nix said nothing of use: "(use '--show-trace' to show it)\n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Equal(t, lastError(c.said), c.want)
		})
	}
}

// argument226 is an error of a module's argument, behind more than twenty lines.
var argument226 = `error:
       … while calling the 'head' builtin
         at /srv/nixpkgs/lib/attrsets.nix:1696:13:
         1696|             head values
             |             ^

       … while evaluating the option ` + "`system.build.toplevel'" + `:

       … while calling 'warnIf'
         at /srv/nixpkgs/lib/trivial.nix:1:1:
            1| x

       … while evaluating the module argument ` + "`secrets' in \"/srv/modules/web.nix\"" + `:

       … while calling anonymous lambda
         at /srv/modules/lib/site.nix:3:4:
            2| {

       … in the right operand of the update (//) operator
         at /srv/nixpkgs/lib/modules.nix:1:1:
` + strings.Repeat("            1| x\n", 25) + `
       error: attribute 'secrets' missing
       error: is a line of this message too
       at /srv/nixpkgs/lib/modules.nix:670:28:
` + strings.Repeat("          669| x\n", 25)

func TestWhatNamesTheUsersPartStaysOfALongError(t *testing.T) {
	text := evaluationError(failed(argument226), map[string]string{"/srv/modules": "", "/srv/nixpkgs": "nixpkgs/"}).Error()
	for _, want := range []string{
		"error: attribute 'secrets' missing\nerror: is a line of this message too\nat nixpkgs/lib/modules.nix:670:28:",
		"… while evaluating the option `system.build.toplevel':\n", "… while evaluating the module argument `secrets' in \"web.nix\":",
		"… while calling anonymous lambda at lib/site.nix:3:4",
	} {
		assert.Assert(t, cmp.Contains(text, want))
	}
	assert.Assert(t, strings.HasPrefix(text, "error: attribute"), text)
	for _, unwanted := range []string{"head", "warnIf", "update (//)"} {
		assert.Assert(t, !strings.Contains(text, unwanted), text)
	}
}

func TestWhoIsKilledHasRefusedNothing(t *testing.T) {
	killed := &child.Error{Argv: []string{"nix-store"}, ExitCode: 137, Err: errors.New("exit status 137")}
	for _, err := range []error{buildError(t.Context(), killed), killedError("evaluate web", killed)} {
		assert.Equal(t, report.CodeOf(err), report.Failed)
		assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), " "), "memory may have run out"))
	}
}

func FuzzErrorsOfNix(f *testing.F) {
	for _, said := range []string{thrown28, syntax28, thrown231, nested28, argument226, "", "error:", "error:\n", "… ", "\xff\x1b]\nerror: x\n"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		text := lastError(said)
		assert.Assert(t, text != "")
		assert.Assert(t, strings.Count(text, "\n") <= mostOfError)
		assert.Assert(t, len(wayThere(said, []string{"/srv/modules"})) <= mostOfWay+1)
		assert.Assert(t, buildFailure(said) != "")
		for line := range strings.Lines(plaintext.Lines(said)) {
			if cause := strings.TrimSpace(line); strings.HasPrefix(cause, "error: ") && len(text) < 100 {
				assert.Assert(t, strings.Contains(text, "error:") || strings.Contains(said, "… ") || strings.Contains(said, "stack trace") || strings.Contains(text, "nix said"), "%q of %q", text, said)
			}
		}
	})
}

// failed is a Nix that ended with exit code 1 and last words.
func failed(said string) error {
	return fmt.Errorf("evaluate: %w", &child.Error{Argv: []string{"nix-instantiate"}, ExitCode: 1, Stderr: said, Said: said, Err: errors.New("exit status 1")})
}

func TestEvaluationErrorsNamePlacesAsTheCallerKnowsThem(t *testing.T) {
	trees := map[string]string{"/srv/modules": "", "/srv/nixpkgs": "nixpkgs/"}
	assert.ErrorContains(t, evaluationError(failed(syntax28), trees), "at web.nix:1:9:")
	err := evaluationError(failed("error: attribute 'x' missing\n\n       at /srv/nixpkgs/lib/modules.nix:7:1:\n"), trees)
	assert.Error(t, err, "error: attribute 'x' missing\n\nat nixpkgs/lib/modules.nix:7:1:")
}

func TestEvaluationErrorsOfAnotherKindStay(t *testing.T) {
	plain := errors.New("no Nix")
	assert.Equal(t, evaluationError(plain, nil), plain)
	stopped := &child.Error{Argv: []string{"nix-instantiate"}, Stderr: "error: interrupted", Err: errors.New("signal: terminated"), Stopped: plain}
	assert.ErrorIs(t, evaluationError(stopped, nil), plain, "whoever stopped it must be found")
}

func TestBuildErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		said string
		want string
		hint string
	}{
		{
			"one derivation", "error: builder for '/nix/store/x-inner.drv' failed with exit code 3;\n       last 1 log lines:\n       > boom\n       For full logs, run 'nix log /nix/store/x-inner.drv'.\n",
			"> boom", "nix-store --read-log",
		},
		{"a derivation that others wait for", nested28, "inner.drv' failed with exit code 3", "nix-store --read-log"},
		{"a full disk", "error: writing to file: No space left on device\n", "No space left on device", "nix-collect-garbage"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := buildError(t.Context(), failed(c.said))
			assert.Equal(t, report.CodeOf(err), report.Refused)
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), " "), c.hint))
		})
	}
}

func TestImportErrors(t *testing.T) {
	exit := fmt.Errorf("run: %w", &remote.ExitError{Host: "root@web", Status: 1})
	contact := &remote.Error{Class: remote.Lost, Op: "run on", Host: "root@web", Err: errors.New("contact lost")}
	for _, c := range []struct {
		name string
		err  error
		said string
		code report.Code
		text string
		hint string
	}{
		{"a full disk", exit, "error: writing to file: No space left on device\n", report.Refused, "No space left on device", "nix-collect-garbage on the machine"},
		{"no trust", exit, "error: cannot add path '/nix/store/x' because it lacks a signature by a trusted key\n", report.Refused, "lacks a signature", "trusted-users"},
		{"no trust, in older words", exit, "error: cannot add path '/nix/store/x' because it lacks a valid signature\n", report.Refused, "lacks a valid signature", "trusted-users"},
		{"another", exit, "error: input is not a Nix export\n", report.Failed, "copy the closure: error: input is not a Nix export", ""},
		{"contact lost", contact, "", report.Failed, "copy the closure: run on root@web: contact lost", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := importError(c.err, c.said)
			assert.Equal(t, report.CodeOf(err), c.code)
			assert.ErrorContains(t, err, c.text)
			assert.Assert(t, cmp.Contains(strings.Join(report.Hints(err), " "), c.hint))
		})
	}
	assert.ErrorIs(t, importError(contact, ""), remote.ErrLost, "the method gives it its exit code")
}

func TestLockErrors(t *testing.T) {
	busy := &remote.ExitError{Status: 75}
	err := lockError(busy, "operator-ssh-web-apply, since 2026-01-02 03:04:05 UTC")
	assert.Equal(t, report.CodeOf(err), report.Busy)
	assert.ErrorContains(t, err, "it is being deployed to by operator-ssh-web-apply, since 2026-01-02")
	assert.ErrorContains(t, lockError(busy, ""), "an unknown run")
	other := &remote.ExitError{Status: 127}
	err = lockError(other, "")
	assert.ErrorIs(t, err, other)
	assert.ErrorContains(t, err, "lock the machine: ")
}

func TestFirstLine(t *testing.T) {
	f := &firstLine{got: make(chan struct{})}
	for _, part := range []string{"he", "ld", "\nmore\n", "and more\n"} {
		_, _ = f.Write([]byte(part))
	}
	<-f.got
	assert.Equal(t, f.text(), "held")
}
