package debian

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestSourcesAreReadInBothFormats(t *testing.T) {
	for _, c := range []struct {
		name  string
		parse func(string) []sourceEntry
		text  string
		want  []sourceEntry
	}{
		{
			"a line with options, a comment, and a source archive", parseList,
			"# deb http://old.example/debian trixie main\n" +
				"deb [arch=amd64 signed-by=/k/debian.gpg] http://mirror.example/debian trixie main contrib # ours\n" +
				"deb-src http://mirror.example/debian trixie main\n",
			[]sourceEntry{{"http://mirror.example/debian", "trixie", "/k/debian.gpg"}},
		},
		{
			"a line without options, with tabs", parseList,
			"deb\thttp://mirror.example/debian/\tbookworm\tmain\n",
			[]sourceEntry{{"http://mirror.example/debian/", "bookworm", ""}},
		},
		{"lines that are none", parseList, "debug x y z\ndeb [signed-by=/k http://m trixie main\ndeb http://m\n", nil},
		{
			"a paragraph with two suites", parseDeb822,
			"# theirs\nTypes: deb deb-src\nURIs: http://mirror.example/debian\nSuites: trixie trixie-updates\n" +
				"Components: main\nSigned-By: /k/debian.gpg\n",
			[]sourceEntry{
				{"http://mirror.example/debian", "trixie", "/k/debian.gpg"},
				{"http://mirror.example/debian", "trixie-updates", "/k/debian.gpg"},
			},
		},
		{
			"a folded value, an inline key, a comment inside", parseDeb822,
			"types: deb\nURIs:\n http://a.example/debian\n# b is slow\n http://b.example/debian\nSuites: trixie\n" +
				"Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n",
			[]sourceEntry{{"http://a.example/debian", "trixie", ""}, {"http://b.example/debian", "trixie", ""}},
		},
		{
			"disabled, and sources only", parseDeb822,
			"Types: deb\nEnabled: no\nURIs: http://a\nSuites: trixie\n\nTypes: deb-src\nURIs: http://b\nSuites: trixie\n", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) { assert.DeepEqual(t, c.parse(c.text), c.want, entryFields) })
	}
}

func TestArchiveIsChosen(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries []sourceEntry
		want    Archive
		err     error
	}{
		{"our suite before another", []sourceEntry{
			{"http://a/debian", "bookworm", "/k/a"}, {"http://b/debian", "trixie", "/k/b"}, {"http://c/debian", "trixie", "/k/c"},
		}, Archive{"http://b/debian", "/k/b"}, nil},
		{"another release is better than nothing, with Debian's keys", []sourceEntry{
			{"http://a/debian-security", "bookworm-security", "/k/a"}, {"http://a/debian/", "bookworm", ""},
		}, Archive{"http://a/debian/", debianKeyring}, nil},
		{"no archive of Debian", []sourceEntry{{"http://a/ubuntu", "noble", ""}}, Archive{}, ErrNoArchive},
		{"no archive at all", nil, Archive{}, ErrNoArchive},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := choose(c.entries, "trixie")
			assert.Equal(t, got, c.want)
			assert.ErrorIs(t, err, c.err)
		})
	}
}
