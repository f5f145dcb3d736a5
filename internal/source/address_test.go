package source

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const (
	rev = "0123456789abcdef0123456789abcdef01234567"
	sum = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	sri = "sha256-LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564="
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		text, want string
		kind       kind
	}{
		{"/srv/modules", "/srv/modules", directory},
		{"/srv/modules/", "/srv/modules", directory},
		{"/srv/c#/modules", "/srv/c#/modules", directory},
		{"/srv/modules.tar.gz#" + sum, "/srv/modules.tar.gz#" + sri, tarball},
		{"/srv/modules.tar.gz#" + sri + ":groups", "/srv/modules.tar.gz#" + sri + ":groups", tarball},
		{"/srv/modules#" + sri, "/srv/modules#" + sri, tarball},
		{"file:///srv/modules.tgz#" + sri, "/srv/modules.tgz#" + sri, tarball},
		{"https://example.org/m.tar.gz#" + sum + ":a/./b", "https://example.org/m.tar.gz#" + sri + ":a/b", tarball},
		{"git+/srv/repository#" + rev, "git+/srv/repository#" + rev, repository},
		{"git+file:///srv/repository#" + rev, "git+file:///srv/repository#" + rev, repository},
		{"git+https://example.org/m.git#" + rev + ":groups", "git+https://example.org/m.git#" + rev + ":groups", repository},
		{"git+ssh://git@example.org:2222/m.git#" + sum, "git+ssh://git@example.org:2222/m.git#" + sum, repository},
	} {
		t.Run(c.text, func(t *testing.T) {
			var a Address
			assert.NilError(t, a.EnvDecode(c.text))
			assert.Equal(t, a.String(), c.want)
			assert.Equal(t, a.kind, c.kind)
			var again Address
			assert.NilError(t, again.EnvDecode(a.String()))
			assert.Equal(t, again, a)
		})
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "names nothing"},
		{"a home", "~/modules", "which only a shell expands"},
		{"two lines", "/srv\n/modules", "more than one line"},
		{"a tarball without a hash", "/srv/modules.tar.gz", "is a tarball without a hash; it needs #sha256-"},
		{"an address without a hash", "https://example.org/m.tar.gz", "is a tarball without a hash"},
		{"a hash that is short", "/srv/m.tar#sha256-abc=", "has a hash that is none"},
		{"a hash of another kind", "/srv/m.tar#sha512-" + strings.Repeat("A", 86) + "==", "has a hash that is none"},
		{"a repository without git+", "https://example.org/m.git#" + rev, "no git+ before it"},
		{"a repository without a revision", "git+https://example.org/m.git", "is a git repository without a revision; it needs #REVISION"},
		{"a branch", "git+https://example.org/m.git#main", "the name of a branch or tag, which may move"},
		{"a short revision", "git+/srv/m#0123abc", "a revision that is not whole"},
		{"an address of git as people write it", "git+git@example.org:m.git#" + rev, "an ssh address begins with ssh://"},
		{"another protocol", "git+ext://sh#" + rev, "is an address by ext"},
		{"another protocol for a tarball", "ftp://example.org/m.tar.gz#" + sri, "is an address by ftp"},
		{"a password", "git+https://user:geheim@example.org/m.git#" + rev, "has a user or password in it"},
		{"a token", "https://geheim@example.org/m.tar.gz#" + sri, "has a user or password in it"},
		{"a query", "https://example.org/m.tar.gz?token=geheim#" + sri, "has a query"},
		{"a host that is an option", "git+ssh://-oProxyCommand=x/m#" + rev, "without a host"},
		{"a user that is an option", "git+ssh://-oProxyCommand=x@host/m#" + rev, "a user that is an option"},
		{"a file address of a host", "git+file://host/m#" + rev, "without an absolute path"},
		{"a folder elsewhere", "git+/srv/m#" + rev + ":../other", "not below the source"},
		{"an absolute folder", "/srv/m.tar#" + sri + ":/etc", "not below the source"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Address
			err := a.EnvDecode(c.text)
			assert.ErrorContains(t, err, c.want)
			assert.Assert(t, !strings.Contains(err.Error(), "geheim"))
			assert.Assert(t, !a.Set())
		})
	}
}

// FuzzAddresses holds that an address that is taken means the same when it is written
// and read again, and is no option of the programs that get it.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{
		"/srv/modules", "/srv/c#/modules", "/srv/m.tar.gz#" + sum, "file:///srv/m.tgz#" + sri, "https://example.org/m.tar.gz#" + sum + ":a/./b",
		"git+/srv/r#" + rev, "git+ssh://git@example.org:2222/m.git#" + sum + ":x", "git+https://-o@h/m#" + rev, "git+ssh://-oProxyCommand=x/m#" + rev,
		"-x", "git+-x#" + rev, "~", "https://user:secret@example.org/m.tar#" + sum,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a Address
		if err := a.EnvDecode(text); err != nil {
			return
		}
		var again Address
		assert.NilError(t, again.EnvDecode(a.String()), "%q as %q", text, a)
		assert.Equal(t, again, a, "%q", text)
		assert.Assert(t, !strings.HasPrefix(a.where, "-"), a)
		assert.Assert(t, a.kind == directory || a.pin != "", a)
		assert.Assert(t, a.folder == "" || filepath.IsLocal(a.folder), a)
	})
}
