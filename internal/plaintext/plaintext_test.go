package plaintext_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/plaintext"
)

func TestLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":                              {"run it\tagain", "run it\tagain"},
		"letters of others":                  {"größer, 日本, 👩‍👩‍👧", "größer, 日本, 👩‍👩‍👧"},
		"colours":                            {"a \x1b[1;31mred\x1b[0m word", "a red word"},
		"a title":                            {"\x1b]0;owned\x07healthy", "healthy"},
		"a link":                             {"\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"},
		"controls of eight bits":             {"a\u009b31mred\u009dx\u009c", "ared"},
		"a sequence without an end":          {"\x1b]0;and the cause is here", "]0;and the cause is here"},
		"an escape at the end":               {"cause\x1b", "cause"},
		"two escapes":                        {"\x1b\x1b[31mred", "red"},
		"cursor and character set":           {"\x1b7\x1b(0\x1bcqq", "qq"},
		"bell, backspace, delete and NUL":    {"a\a\b\x7f\x00b", "ab"},
		"forged lines":                       {"me\n[operator-ssh-web] healthy\r\nx\ry", "me [operator-ssh-web] healthy  x y"},
		"separators":                         {"a\u2028b\u2029c\u0085d\ve", "a b c d e"},
		"directions":                         {"a\u202eb\u2066c\u200ed\u061ce", "abcde"},
		"tags and annotations":               {"a\U000E0041\ufeff\ufff9b", "ab"},
		"not UTF-8":                          {"a\xff\xfeb\xc3", "a\uFFFDb\uFFFD"},
		"what is no character":               {"a\ufffe\uffff\U0001ffffb", "a\uFFFD\uFFFD\uFFFDb"},
		"a surrogate in UTF-8, and too long": {"\xed\xa0\x80\xc0\x9b", "\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, plaintext.Line(c.text), c.want) })
	}
	assert.Equal(t, plaintext.Lines("a\r\nb\n\x1b[2Jc\rd"), "a\nb\nc d")
}

func TestWhatIsCutSaysSo(t *testing.T) {
	long := "cause: " + strings.Repeat("ä", plaintext.LineLimit) + " :end"
	got := plaintext.Shown(long)
	assert.Assert(t, len(got) <= plaintext.LineLimit)
	assert.Assert(t, strings.HasPrefix(got, "cause: ") && strings.HasSuffix(got, "ä :end"), got)
	assert.Assert(t, strings.Contains(got, " bytes cut) …") && utf8.ValidString(got), got)
	assert.Equal(t, plaintext.Shown("short"), "short")
	lines := plaintext.ShownLines(strings.Repeat(long+"\n", 100))
	assert.Assert(t, len(lines) <= plaintext.TextLimit && strings.Contains(lines, "cause: "))
}

func TestWriter(t *testing.T) {
	hostile := "1 /nix/\x1b]0;x\x07store/ä \x1b[2Jdefault\nlast\u202e line ä"
	for size := 1; size <= len(hostile); size++ {
		var b bytes.Buffer
		w := plaintext.NewWriter(&b)
		for rest := []byte(hostile); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, err := w.Write(rest[:min(size, len(rest))])
			assert.NilError(t, err)
		}
		assert.NilError(t, w.Flush())
		assert.Equal(t, b.String(), "1 /nix/store/ä default\nlast line ä")
	}
	var b bytes.Buffer
	w := plaintext.NewWriter(&b)
	long := strings.Repeat("ä", 1<<20)
	_, err := w.Write([]byte(long[:len(long)-1]))
	assert.NilError(t, err)
	_, err = w.Write([]byte(long[len(long)-1:]))
	assert.NilError(t, err)
	assert.NilError(t, w.Flush())
	assert.Equal(t, b.String(), long, "a result is not cut")
}

func TestJSONKeepsValues(t *testing.T) {
	want := "ä\u202e\u2028\x7f\U000E0041\u0085\ufffe 日"
	text, err := json.Marshal(want)
	assert.NilError(t, err)
	escaped := string(plaintext.JSON(text))
	assert.Equal(t, plaintext.Line(escaped), escaped)
	var got string
	assert.NilError(t, json.Unmarshal([]byte(escaped), &got))
	assert.Equal(t, got, want)
}

// FuzzShown holds what is shown to what its package promises.
func FuzzShown(f *testing.F) {
	for _, seed := range []string{
		"", "a\nb", "\x1b[31m", "\x1b]0;x", "\u202e\u2028\xff", "\ufffe\x9b", strings.Repeat("ä", 4000), "\x1b\x1b]\x1b\\[0m",
		strings.Repeat("x\n", 40000), "\r\r\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line, lines := plaintext.Shown(text), plaintext.ShownLines(text)
		assert.Assert(t, !strings.ContainsRune(line, '\n'))
		assert.Assert(t, len(line) <= plaintext.LineLimit && len(lines) <= plaintext.TextLimit)
		assert.Equal(t, plaintext.Shown(line), line)
		assert.Equal(t, plaintext.ShownLines(lines), lines)
		for _, shown := range []string{line, lines} {
			assert.Assert(t, utf8.ValidString(shown))
			for _, r := range shown {
				harmless := r == '\n' || r == '\t' || !unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
				assert.Assert(t, harmless, "%U", r)
			}
			var escaped bytes.Buffer
			assert.NilError(t, xml.EscapeText(&escaped, []byte(shown)))
			back := struct {
				Text string `xml:",chardata"`
			}{}
			assert.NilError(t, xml.Unmarshal([]byte("<x>"+escaped.String()+"</x>"), &back))
			assert.Equal(t, back.Text, shown)
		}
	})
}
