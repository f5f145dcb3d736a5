package env_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

const pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIJ\nshort\nqqqqqqqqqqqqqqqqqqqqqq\n-----END PRIVATE KEY-----\n"

func TestRedactorReplacesEveryForm(t *testing.T) {
	t.Parallel()
	const odd = `p"<ä> &/\+w%`
	escaped, err := json.Marshal(odd)
	assert.NilError(t, err)
	for name, c := range map[string]struct{ secret, text, want string }{
		"as it is":                {hush, "a " + hush + " b", "a [redacted] b"},
		"several times":           {"1234", "1234 12345 123", "[redacted] [redacted]5 123"},
		"next to itself":          {"1234", "12341234", "[redacted][redacted]"},
		"overlapping itself":      {"1212", "x121212x", "x[redacted]x"},
		"too short":               {"123", "123", "123"},
		"the whole of a key":      {pem, pem, "[redacted]\n"},
		"a line of a key":         {pem, "is MC4CAQAwBQYDK2VwBCIEIJ.", "is [redacted]."},
		"no short line of a key":  {pem, "short", "short"},
		"no boundary of a key":    {pem, "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----"},
		"indented lines of a key": {pem, "  " + strings.ReplaceAll(pem, "\n", "\n  "), "  -----BEGIN PRIVATE KEY-----\n  [redacted]\n  short\n  [redacted]\n  -----END PRIVATE KEY-----\n  "},
		"blanks around it":        {" \n" + hush + "\n", "a\n" + hush + "b", "a\n[redacted]b"},
		"JSON":                    {odd, `{"a":` + string(escaped) + `}`, `{"a":"[redacted]"}`},
		"JSON for humans":         {odd, `"p\"<ä> &/\\+w%"`, `"[redacted]"`},
		"JSON of several lines":   {pem, fmt.Sprintf("%q", pem), `"[redacted]\n"`},
		"Go":                      {"tab\x7fä\t", strconv.Quote("tab\x7fä\t"), `"[redacted]\t"`},
		"a query":                 {odd, "?a=" + url.QueryEscape(odd), "?a=[redacted]"},
		"a path":                  {odd, "/" + url.PathEscape(odd) + "/", "/[redacted]/"},
		"base64":                  {hush, base64.StdEncoding.EncodeToString([]byte(hush)), "[redacted]"},
		"base64 for addresses":    {"???>>>", base64.URLEncoding.EncodeToString([]byte("???>>>")), "[redacted]"},
		"base64 without padding":  {"12345", base64.RawStdEncoding.EncodeToString([]byte("12345")), "[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := env.NewRedactor(env.NewSecret(c.secret))
			assert.Equal(t, r.String(c.text), c.want)
			assert.Equal(t, byteByByte(t, r, c.text), c.want)
		})
	}
}

func TestRedactorFindsBase64WithinALongerText(t *testing.T) {
	t.Parallel()
	r := env.NewRedactor(env.NewSecret(hush))
	for before := range 7 {
		for after := range 4 {
			text := strings.Repeat("u", before) + hush + strings.Repeat(":", after)
			got := r.String(base64.StdEncoding.EncodeToString([]byte(text)))
			front, back, found := strings.Cut(got, "[redacted]")
			assert.Assert(t, found, got)
			// What is left holds the neighbours and, at each side, less than one byte.
			assert.Assert(t, len(front) <= (before*8+5)/6 && len(back) <= (after+1)*2+2, got)
		}
	}
}

func TestRedactorMergesOverlappingSecrets(t *testing.T) {
	t.Parallel()
	r := env.NewRedactor(env.NewSecret("abcdef"), env.NewSecret("defghi"), env.NewSecret("abcd"))
	for text, want := range map[string]string{
		"xabcdefghix": "x[redacted]x", "xabcdex": "x[redacted]ex", "abcdef": "[redacted]", "abcdefgh": "[redacted]gh", "abc": "abc",
	} {
		assert.Equal(t, r.String(text), want, text)
		assert.Equal(t, byteByByte(t, r, text), want, text)
	}
}

// byteByByte sends text through a writer in the smallest writes there are.
func byteByByte(t *testing.T, r *env.Redactor, text string) string {
	t.Helper()
	var out strings.Builder
	w := r.Writer(&out)
	for i := range len(text) {
		n, err := w.Write([]byte{text[i]})
		assert.NilError(t, err)
		assert.Equal(t, n, 1)
	}
	assert.NilError(t, w.Flush())
	return out.String()
}

func TestWriterKeepsBackOnlyWhatMayBeASecret(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := env.NewRedactor()
	w := r.Writer(&out)
	for _, step := range []struct{ write, shown string }{
		{"before 1234\n", "before 1234\n"},
		{"", "before 1234\n"}, // learns the secret here
		{"a 12", "before 1234\na "},
		{"3", "before 1234\na "},
		{".", "before 1234\na 123."},
		{"12", "before 1234\na 123."},
		{"34\n", "before 1234\na 123.[redacted]\n"},
		{"done 123", "before 1234\na 123.[redacted]\ndone "},
	} {
		_, err := io.WriteString(w, step.write)
		assert.NilError(t, err)
		assert.Equal(t, out.String(), step.shown)
		if step.write == "" {
			r.Add(env.NewSecret("1234"))
		}
	}
	assert.NilError(t, w.Flush())
	assert.NilError(t, w.Flush())
	assert.Equal(t, out.String(), "before 1234\na 123.[redacted]\ndone 123")
}

// broken fails on every write.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterReportsTheErrorBehind(t *testing.T) {
	t.Parallel()
	w := env.NewRedactor(env.NewSecret("1234")).Writer(broken{})
	n, err := w.Write([]byte("a"))
	assert.Equal(t, n, 0)
	assert.ErrorIs(t, err, errBroken)
	n, err = w.Write([]byte("123"))
	assert.Equal(t, n, 3)
	assert.NilError(t, err)
	assert.ErrorIs(t, w.Flush(), errBroken)
}

// FuzzNoSecretSurvives splits a text in which secrets lie into writes, and holds
// what comes through to the same text in one piece and to the secrets.
func FuzzNoSecretSurvives(f *testing.F) {
	f.Add("hunter22", "s3cr3t", "a hunter22 b s3cr3t", uint64(1))
	f.Add("abab", "baba", "ababababa", uint64(0x8241))
	f.Add(pem, "Basic", pem+"\nBasic "+base64.StdEncoding.EncodeToString([]byte(pem)), uint64(77))
	f.Add("aaaa", "aaaaaaaa", "aaaaaaaaaaaaaaaaaaaaab", uint64(5))
	f.Add("\nabc\n", "    ", "x\nabc\n    y", uint64(9))
	f.Fuzz(func(t *testing.T, one, two, text string, seed uint64) {
		for _, secret := range []string{one, two} {
			// A secret that the mark itself holds can't be told from the mark.
			if len(secret) < 4 || strings.Contains(secret, "redact") || strings.Contains("[redacted]", secret) {
				return
			}
		}
		text += one + text + two + one[:len(one)/2]
		r := env.NewRedactor(env.NewSecret(one), env.NewSecret(two))
		var out strings.Builder
		w := r.Writer(&out)
		longest := max(len(one), len(two)) * 6 // of all forms
		for at := 0; at < len(text); {
			seed = seed*6364136223846793005 + 1442695040888963407
			end := min(len(text), at+1+int(seed>>33)%(2*len(one)))
			if _, err := io.WriteString(w, text[at:end]); err != nil {
				t.Fatal(err)
			}
			at = end
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if whole := r.String(text); out.String() != whole {
			t.Fatalf("split: %q\nwhole: %q", out.String(), whole)
		}
		if len(out.String()) > len(text)*len("[redacted]")+longest {
			t.Fatalf("%d bytes became %d", len(text), out.Len())
		}
		for piece := range strings.SplitSeq(out.String(), "[redacted]") {
			if strings.Contains(piece, one) || strings.Contains(piece, two) {
				t.Fatalf("%q survived in %q", []string{one, two}, out.String())
			}
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	var secrets []env.Secret
	for i := range 100 {
		secrets = append(secrets, env.NewSecret(strings.ReplaceAll(pem, "qqq", strconv.Itoa(i))))
	}
	w := env.NewRedactor(secrets...).Writer(io.Discard)
	line := []byte(strings.Repeat("copying path '/nix/store/abcdefgh-glibc-2.40' from 'https://cache.example.org'...\n", 100))
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := w.Write(line); err != nil {
			b.Fatal(err)
		}
	}
}
