package env_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/fs"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/targets/env"
)

const hush = "hush-hush-0123456789"

func TestSecretPrintsNowhere(t *testing.T) {
	t.Parallel()
	secret := env.NewSecret(hush)
	coordinates := ssh{Host: "web", Key: secret}
	e := env.Map(map[string]string{"SSH_KEY": hush, "SSH_HOST": "web"})
	assert.NilError(t, e.Load(t.Context(), env.For{}, &ssh{}))
	for name, value := range map[string]any{
		"itself":      secret,
		"pointer":     &secret,
		"struct":      coordinates,
		"hidden":      struct{ inner ssh }{coordinates},
		"slice":       []env.Secret{secret},
		"map":         map[string]any{"key": secret},
		"map key":     map[env.Secret]int{secret: 1},
		"interface":   []any{secret, &coordinates},
		"environment": e,
		"in a struct": struct{ e env.Environment }{e},
		"redactor":    struct{ inner any }{e.Redactor()},
		"bare":        e.Redactor(),
		"hidden deep": struct{ inner *struct{ r *env.Redactor } }{&struct{ r *env.Redactor }{e.Redactor()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x", "%X", "%d", "%c", "%U", "%t", "%08.3f", "%-30s"} {
				text := fmt.Sprintf(verb, value)
				hidden(t, verb, text)
			}
			text, err := json.Marshal(value)
			assert.NilError(t, err)
			hidden(t, "JSON", string(text))
			var log bytes.Buffer
			slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", value)
			slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", value)
			hidden(t, "slog", log.String())
		})
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q", "%s", "%x"} {
		assert.Equal(t, fmt.Sprintf(verb, secret), "[redacted]")
	}
	text, err := xml.Marshal(secret)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "<Secret>[redacted]</Secret>")
	text, err = json.Marshal(map[env.Secret]ssh{secret: coordinates})
	assert.NilError(t, err)
	assert.Assert(t, strings.HasPrefix(string(text), `{"[redacted]":{"Host":"web",`), string(text))
	assert.Equal(t, secret.String(), "[redacted]")
}

// hidden fails where text holds the secret as it is, in hexadecimal or as bytes.
func hidden(t *testing.T, how, text string) {
	t.Helper()
	for _, form := range []string{hush, fmt.Sprintf("%x", hush), fmt.Sprintf("%X", hush), "104 117 115 104"} {
		assert.Check(t, !strings.Contains(text, form), "%s: %s", how, text)
	}
}

func TestSecretIsRevealedByNameOnly(t *testing.T) {
	t.Parallel()
	assert.Equal(t, env.NewSecret("x").Reveal(), "x")
	assert.Assert(t, env.NewSecret("x").IsSet())
	assert.Equal(t, env.Secret{}.Reveal(), "")
	assert.Assert(t, !env.NewSecret("").IsSet())
	assert.Equal(t, fmt.Sprint(env.Secret{}), "[redacted]")
}

func TestSecretFromFile(t *testing.T) {
	t.Parallel()
	dir := fs.NewDir(t, "secrets",
		fs.WithFile("key", "from file\nline two\n\n"), fs.WithFile("windows", "from file\r\n"), fs.WithFile("bare", "from file"),
		fs.WithFile("other", "scoped file"))
	for name, c := range map[string]struct {
		scope  env.For
		values map[string]string
		want   string
	}{
		"one line end is dropped":   {env.For{}, map[string]string{"SSH_KEY_FILE": dir.Join("key")}, "from file\nline two\n"},
		"of Windows as well":        {env.For{}, map[string]string{"SSH_KEY_FILE": dir.Join("windows")}, "from file"},
		"none is needed":            {env.For{}, map[string]string{"SSH_KEY_FILE": dir.Join("bare")}, "from file"},
		"an empty variable is none": {env.For{}, map[string]string{"SSH_KEY_FILE": dir.Join("bare"), "SSH_KEY": ""}, "from file"},
		"an empty file name too":    {env.For{}, map[string]string{"SSH_KEY_FILE": "", "SSH_KEY": "value"}, "value"},
		"the machine's form wins": {
			alone, map[string]string{"SSH_KEY_FILE": dir.Join("bare"), "DB_1_SSH_KEY_FILE": dir.Join("other")}, "scoped file",
		},
		"over the plain variable too": {alone, map[string]string{"SSH_KEY": "value", "DB_1_SSH_KEY_FILE": dir.Join("other")}, "scoped file"},
		"the plain form serves all":   {together, map[string]string{"SSH_KEY_FILE": dir.Join("bare")}, "from file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.values["SSH_HOST"], c.values["DB_1_SSH_HOST"] = "web", "web"
			var got ssh
			e := env.Map(c.values)
			assert.NilError(t, e.Load(t.Context(), c.scope, &got))
			assert.Equal(t, got.Key.Reveal(), c.want)
			assert.Equal(t, e.Redactor().String(strings.TrimSpace(c.want)), "[redacted]")
		})
	}
}

// TestASecretOfOneLine has the line ends that editors and shells leave behind a
// token, and those within it, which no header and no login takes.
func TestASecretOfOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, problem string }{
		{hush, hush, ""},
		{hush + "\n", hush, ""},
		{hush + "\r\n", hush, ""},
		{hush + "\r", hush, ""},
		{hush + "\r\r\n", hush, ""},
		{hush + "\r" + hush, "", "holds a carriage return within its text, and must be one line"},
		{hush + "\n\n\n", hush, ""},
		{" " + hush + " ", " " + hush + " ", ""},
		{hush + "\n" + hush, "", "holds a line end or another control character, and must be one line"},
		{"\n" + hush, "", "holds a line end or another control character, and must be one line"},
		{hush + "\t", "", "holds a line end or another control character, and must be one line"},
		{hush + "\x1b[2J", "", "holds a line end or another control character, and must be one line"},
		{"abc\n\n", "", "shorter than 4 bytes"},
	} {
		dir := fs.NewDir(t, "secrets", fs.WithFile("token", c.text))
		for variable, values := range map[string]map[string]string{
			"TOKEN": {"TOKEN": c.text}, "TOKEN_FILE": {"TOKEN_FILE": dir.Join("token")},
		} {
			var keys struct {
				Token env.Secret `env:"TOKEN" desc:"token of an API"`
			}
			e := env.Map(values)
			err := e.Load(t.Context(), env.For{}, &keys)
			if c.problem != "" {
				assert.DeepEqual(t, problemsOf(t, err), []string{variable + ": " + c.problem})
				hidden(t, "error", err.Error())
				continue
			}
			assert.NilError(t, err, "%q", c.text)
			assert.Equal(t, keys.Token.Reveal(), c.want)
			assert.Assert(t, !strings.Contains(e.Redactor().String("Bearer "+keys.Token.Reveal()), hush))
		}
	}
}

// TestASecretOfSeveralLinesFromWindows has a key whose lines end as they do there.
func TestASecretOfSeveralLinesFromWindows(t *testing.T) {
	t.Parallel()
	const want = "line one of it\nline two of it"
	for _, text := range []string{"line one of it\r\nline two of it", "line one of it\r\nline two of it\r", "line one of it\r\nline two of it\r\n"} {
		dir := fs.NewDir(t, "secrets", fs.WithFile("key", text))
		for _, values := range []map[string]string{{"SSH_KEY": text}, {"SSH_KEY_FILE": dir.Join("key")}, {"SSH_KEY_FILE": dir.Join("key") + "\r"}} {
			values["SSH_HOST"] = "web"
			var got ssh
			e := env.Map(values)
			assert.NilError(t, e.Load(t.Context(), env.For{}, &got))
			assert.Equal(t, strings.TrimSuffix(got.Key.Reveal(), "\n"), want)
			for _, form := range []string{strings.TrimRight(text, "\r\n"), want} {
				coded := base64.StdEncoding.EncodeToString([]byte(form))
				assert.Equal(t, e.Redactor().String(coded), "[redacted]")
			}
		}
	}
}

func TestSecretFileProblems(t *testing.T) {
	t.Parallel()
	dir := fs.NewDir(t, "secrets", fs.WithFile("empty", "\n"), fs.WithFile("short", "abc\n"), fs.WithFile("large", strings.Repeat("x", 1<<20+1)))
	assert.NilError(t, syscall.Mkfifo(dir.Join("pipe"), 0o600))
	assert.NilError(t, os.Symlink("loop", dir.Join("loop")))
	for name, c := range map[string]struct {
		values map[string]string
		want   string
	}{
		"both":    {map[string]string{"SSH_KEY": hush, "SSH_KEY_FILE": "/x"}, "SSH_KEY: set together with SSH_KEY_FILE"},
		"absent":  {map[string]string{"SSH_KEY_FILE": dir.Join("no")}, fmt.Sprintf("SSH_KEY_FILE: %q does not exist", dir.Join("no"))},
		"empty":   {map[string]string{"SSH_KEY_FILE": dir.Join("empty")}, fmt.Sprintf("SSH_KEY_FILE: %q is empty", dir.Join("empty"))},
		"short":   {map[string]string{"SSH_KEY_FILE": dir.Join("short")}, "SSH_KEY_FILE: shorter than 4 bytes"},
		"large":   {map[string]string{"SSH_KEY_FILE": dir.Join("large")}, fmt.Sprintf("SSH_KEY_FILE: %q holds more than 1048576 bytes", dir.Join("large"))},
		"folder":  {map[string]string{"SSH_KEY_FILE": dir.Path()}, fmt.Sprintf("SSH_KEY_FILE: %q can't be read: is a directory", dir.Path())},
		"loop":    {map[string]string{"SSH_KEY_FILE": dir.Join("loop")}, fmt.Sprintf("SSH_KEY_FILE: %q can't be opened: too many levels of symbolic links", dir.Join("loop"))},
		"no pipe": {map[string]string{"SSH_KEY_FILE": dir.Join("pipe")}, fmt.Sprintf("SSH_KEY_FILE: %q is empty", dir.Join("pipe"))},
		"in the store": {
			map[string]string{"SSH_KEY_FILE": "/nix/../nix/store/aaaa-key"},
			`SSH_KEY_FILE: "/nix/../nix/store/aaaa-key" is in the Nix store, which everybody can read`,
		},
		"home":  {map[string]string{"SSH_KEY_FILE": "~/key"}, "SSH_KEY_FILE: the file it names starts with ~, which only a shell expands"},
		"token": {map[string]string{"SSH_KEY_FILE": hush}, "SSH_KEY_FILE: the file it names does not exist"},
		"key":   {map[string]string{"SSH_KEY_FILE": "/" + hush + "\n"}, "SSH_KEY_FILE: the file it names holds a line end or another control character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.values["SSH_HOST"] = "web"
			err := env.Map(c.values).Load(t.Context(), env.For{}, &ssh{})
			assert.DeepEqual(t, problemsOf(t, err), []string{c.want})
			hidden(t, "error", err.Error())
		})
	}
}

// TestAPathIsNoSecret has paths in the variables of what the files hold.
func TestAPathIsNoSecret(t *testing.T) {
	t.Parallel()
	dir := fs.NewDir(t, "secrets", fs.WithFile("key", "line one\nline two\n"), fs.WithDir("folder"))
	const what = ": is the path of a file, and not what is in it"
	for value, refused := range map[string]bool{
		dir.Join("key"): true, dir.Join("key") + "\n": true, "~/key": true, dir.Join("folder", "..", "key"): true,
		dir.Join("nothing"): false, dir.Join("folder"): false, "~/nothing": false, "key-": false, dir.Join("key") + "\nand more": false,
		"a/b+c/d==": false,
	} {
		var keys struct {
			Token env.Secret `env:"TOKEN" desc:"token of an API" lines:"several"`
		}
		err := env.Map(map[string]string{"TOKEN": value, "HOME": dir.Path()}).Load(t.Context(), env.For{}, &keys)
		if !refused {
			assert.NilError(t, err, value)
			continue
		}
		assert.DeepEqual(t, problemsOf(t, err), []string{"TOKEN" + what})
		assert.ErrorContains(t, err, "in TOKEN_FILE the path of a file that holds it")
		assert.Assert(t, !strings.Contains(err.Error(), dir.Path()))
	}
}

func TestSecretFileIsReadOnceAndWithinBounds(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	assert.NilError(t, syscall.Mkfifo(pipe, 0o600))
	// For reading too, so that opening it does not wait for a reader.
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0)
	assert.NilError(t, err)
	e := env.Map(map[string]string{"SSH_HOST": "web", "SSH_KEY_FILE": pipe})

	why := errors.New("told to stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	err = e.Load(ctx, env.For{}, &ssh{})
	assert.DeepEqual(t, problemsOf(t, err), []string{fmt.Sprintf("SSH_KEY_FILE: %q was not read to its end: told to stop", pipe)})

	_, err = writer.WriteString(hush)
	assert.NilError(t, err)
	loaded := make(chan error, 1)
	var first ssh
	go func() { loaded <- e.Load(t.Context(), env.For{}, &first) }()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if opened(pipe) < 2 {
			return poll.Continue("the reader has not opened %s", pipe)
		}
		return poll.Success()
	}, poll.WithDelay(time.Millisecond))
	assert.NilError(t, writer.Close()) // the reader sees the end
	err = <-loaded
	assert.NilError(t, err)
	assert.Equal(t, first.Key.Reveal(), hush)

	var second ssh
	assert.NilError(t, e.Load(t.Context(), env.For{}, &second))
	assert.Equal(t, second.Key.Reveal(), hush)
}

// opened counts how often this process has path open.
func opened(path string) int {
	entries, _ := os.ReadDir("/proc/self/fd")
	count := 0
	for _, entry := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && target == path {
			count++
		}
	}
	return count
}
