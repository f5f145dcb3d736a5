package source

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/internal/child"
)

// What git says, as recorded of 2.39.
const (
	dubious = "fatal: detected dubious ownership in repository at '/srv/modules/.git'\nTo add an exception for this directory, call:\n\n" +
		"\tgit config --global --add safe.directory /srv/modules/.git\nfatal: Could not read from remote repository.\n\n" +
		"Please make sure you have the correct access rights\nand the repository exists.\n"
	noKey = "git@example.org: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\n" +
		"Please make sure you have the correct access rights\nand the repository exists.\n"
)

func TestReasons(t *testing.T) {
	for name, c := range map[string]struct{ said, want string }{
		"another's repository": {dubious, "fatal: detected dubious ownership in repository at '/srv/modules/.git'"},
		"no key":               {noKey, "fatal: Could not read from remote repository. (git@example.org: Permission denied (publickey).)"},
		"a transfer that broke off": {
			"error: RPC failed; curl 56 GnuTLS recv error\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n", "error: RPC failed; curl 56 GnuTLS recv error",
		},
		"a server's words": {"remote: Not Found\nfatal: repository 'https://x/' not found\n", "fatal: repository 'https://x/' not found (remote: Not Found)"},
		"of Nix":           {"error:\n  … while fetching\n  error: unable to download 'https://x': HTTP error 404\n", "error: unable to download 'https://x': HTTP error 404"},
		"nothing":          {"", ""},
		"one said twice":   {"fatal: x\nfatal: x\n", "fatal: x"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, reason(c.said), c.want) })
	}
}

func TestFailuresHaveTheirHints(t *testing.T) {
	fault := func(said string, code int) error {
		return failed(t.Context(), &child.Error{Argv: []string{"git"}, ExitCode: code, Said: said, Err: errors.New("exit status")}, "git", "keys of ssh")
	}
	refused, ok := errors.AsType[*refusal](fault(dubious, 128))
	assert.Assert(t, ok && strings.Contains(refused.hint, "belongs to another user") && !strings.Contains(refused.hint, "ssh keys"))
	refused, ok = errors.AsType[*refusal](fault(noKey, 128))
	assert.Assert(t, ok && strings.Contains(refused.hint, "keys of ssh"))
	_, ok = errors.AsType[*refusal](fault("", 137))
	assert.Assert(t, !ok, "who is killed has refused nothing")
	assert.Assert(t, cmp.Contains(fault("", 137).Error(), "memory may have run out"))
}

func FuzzReason(f *testing.F) {
	for _, said := range []string{dubious, noKey, "", "error:", "fatal:\n", strings.Repeat("error: x\n", 500)} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		why := reason(said)
		assert.Assert(t, len(why) <= mostReason && !strings.ContainsAny(why, "\n\r\x1b"))
		for line := range strings.Lines(said) {
			if text := strings.TrimSpace(line); text == "fatal: detected dubious ownership" && len(said) < mostReason/2 {
				assert.Assert(t, strings.Contains(why, text), why)
			}
		}
	})
}
