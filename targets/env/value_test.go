package env_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/env"
)

// holder holds one field of type T, read from X.
type holder[T any] struct {
	X T `env:"X" desc:"a value"`
}

// load reads value as a T, through the loader.
func load[T any](t *testing.T, value string) (T, error) {
	t.Helper()
	var h holder[T]
	err := env.Map(map[string]string{"X": value}).Load(t.Context(), env.For{}, &h)
	return h.X, err
}

// valid shows what values become, refused what is wrong with others.
func valid[T any](t *testing.T, cases map[string]T) {
	t.Helper()
	for value, want := range cases {
		got, err := load[T](t, value)
		assert.Check(t, err == nil, "%q: %v", value, err)
		assert.Check(t, fmt.Sprintf("%#v", got) == fmt.Sprintf("%#v", want), "%q is %#v", value, got)
	}
}

func refused[T any](t *testing.T, cases map[string]string) {
	t.Helper()
	for value, want := range cases {
		_, err := load[T](t, value)
		var problems *env.Problems
		if assert.Check(t, errors.As(err, &problems), "%q was taken", value) {
			assert.Check(t, strings.HasSuffix(problems.List[0].What, " "+want), "%q: %s", value, problems.List[0].What)
		}
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Host{
		"web":                     "web",
		"Web-1.example.org":       "Web-1.example.org",
		"example.org.":            "example.org.",
		"my_db":                   "my_db",
		"3com.example":            "3com.example",
		"192.0.2.7":               "192.0.2.7",
		"2001:db8::1":             "2001:db8::1",
		"[2001:db8::1]":           "2001:db8::1",
		"fe80::1%eth0":            "fe80::1%eth0",
		"[fe80::1%eth0.5]":        "fe80::1%eth0.5",
		"::ffff:192.0.2.7":        "::ffff:192.0.2.7",
		strings.Repeat("a", 63):   env.Host(strings.Repeat("a", 63)),
		"xn--bcher-kva.example":   "xn--bcher-kva.example",
		strings.Repeat("a.", 126): env.Host(strings.Repeat("a.", 126)),
	})
	const neither = "is neither a host name nor an address"
	refused[env.Host](t, map[string]string{
		"-oProxyCommand=x":        neither,
		"a b":                     neither,
		"web-":                    neither,
		"a..b":                    neither,
		".":                       neither,
		"bücher.example":          "has letters that are not of ASCII; write it as DNS has it: xn--bcher-kva.example",
		"Web.BÜCHER.example.":     "has letters that are not of ASCII; write it as DNS has it: web.xn--bcher-kva.example.",
		"☃.example":               neither,
		"bü cher.example":         neither,
		"web\n":                   neither,
		"web/x":                   neither,
		strings.Repeat("a", 64):   neither,
		strings.Repeat("a.", 127): "is longer than a host name",
		"root@web":                "holds a user, who does not belong to the host",
		"web:22":                  "holds a colon but is no IPv6 address; a port does not belong to the host",
		"[::1]:22":                "holds a colon but is no IPv6 address; a port does not belong to the host",
		"[::1":                    "has a bracket too many or too few",
		"::1]":                    "has a bracket too many or too few",
		"[192.0.2.7]":             "has a bracket too many or too few",
		"fe80::1%a b":             "has a zone that no interface is called",
		"256.0.2.7":               "is not an IPv4 address, and no host name ends in a number",
		"192.0.2.07":              "is not an IPv4 address, and no host name ends in a number",
		"2130706433":              "is not an IPv4 address, and no host name ends in a number",
	})
}

func TestDomain(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Domain{
		"example.org": "example.org", "example.org.": "example.org", "localhost": "localhost", "xn--mnchen-3ya.example.": "xn--mnchen-3ya.example",
	})
	const neither = "is not the name of a domain"
	const hint = "has letters that are not of ASCII; write it as DNS has it: xn--mnchen-3ya.example"
	refused[env.Domain](t, map[string]string{
		"example.org..": neither, ".": neither, "a..b": neither,
		"192.0.2.7": "is an address, and no domain", "[2001:db8::1]": "is an address, and no domain",
		"münchen.example": hint, "mu\u0308nchen.example": hint, "☃": neither,
	})
}

func TestPortAndCount(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Port{"1": 1, "22": 22, "65535": 65535})
	refused[env.Port](t, map[string]string{
		"0":                    "is below 1",
		"65536":                "is above 65535",
		"70000":                "is above 65535",
		"99999999999999999999": "is above 65535",
		"010":                  "has a leading zero",
		"0x16":                 "is not made of digits alone",
		"abc":                  "is not made of digits alone",
		"-1":                   "is not made of digits alone",
		"+1":                   "is not made of digits alone",
		" 22":                  "is not made of digits alone",
		"22\n":                 "is not made of digits alone",
		"１":                    "is not made of digits alone",
	})
	valid(t, map[string]env.Count{"1": 1, "10": 10, "2147483647": 2147483647})
	valid(t, map[string]env.Number{"0": 0, "2": 2})
	refused[env.Number](t, map[string]string{"-1": "is not made of digits alone", "00": "has a leading zero"})
	refused[env.Count](t, map[string]string{
		"0": "is below 1", "2147483648": "is above 2147483647", "1_000": "is not made of digits alone", "1.5": "is not made of digits alone",
	})
}

func TestDurations(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Duration{
		"30s": env.Duration(30 * time.Second), "1h30m": env.Duration(90 * time.Minute), "1.5s": env.Duration(1500 * time.Millisecond),
	})
	refused[env.Duration](t, map[string]string{
		"60": "has no unit", "1.5": "has no unit", "1 h": "is not a duration", "soon": "is not a duration", "1d": "is not a duration",
		"-5s": "is negative", "0": "is no time at all", "0s": "is no time at all", "9999999h": "is not a duration",
	})
	valid(t, map[string]env.DurationOrOff{"0": 0, "0s": 0, "60s": env.DurationOrOff(time.Minute)})
	refused[env.DurationOrOff](t, map[string]string{"60": "has no unit", "-5s": "is negative", "off": "is not a duration"})
	assert.Equal(t, fmt.Sprint(env.Duration(time.Minute), env.DurationOrOff(time.Second)), "1m0s 1s")
}

func TestListsAndTexts(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Names{"a": {"a"}, "a,b": {"a", "b"}, " a , b c ": {"a", "b c"}})
	refused[env.Names](t, map[string]string{
		"a,b,": "has an empty name before, after or between its commas",
		",":    "has an empty name before, after or between its commas",
		"a, ,": "has an empty name before, after or between its commas",
		"a\nb": "holds a line end or another control character",
	})
	valid(t, map[string]env.Lines{"one": {"one"}, "one\r\n\n two\n": {"one", "two"}})
	refused[env.Lines](t, map[string]string{
		"\n \n": "has only blank lines", "a\x00b": "holds a line end or another control character",
	})
	valid(t, map[string]env.Text{"{\n\t\"a\": 1\r\n}\n": "{\n\t\"a\": 1\n}\n"})
	refused[env.Text](t, map[string]string{"a\x1b[2Jb": "holds a line end or another control character"})
	valid(t, map[string]string{"plain": "plain", " with ünïcode ": " with ünïcode "})
	refused[string](t, map[string]string{
		"a\nb":   "holds a line end or another control character",
		"a\x00b": "holds a line end or another control character",
		"a\x7fb": "holds a line end or another control character",
	})
}

// TestLineEndsOfWindows has what is left of them where a file of Windows goes into a
// variable: a shell that reads it takes off the last line feed alone.
func TestLineEndsOfWindows(t *testing.T) {
	t.Parallel()
	const certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"
	windows := strings.ReplaceAll(certificate, "\n", "\r\n")
	valid(t, map[string]env.Text{
		windows: certificate, windows + "\r": certificate, windows + "\r\n": certificate + "\n", certificate + "\r": certificate,
	})
	valid(t, map[string]env.Lines{"one\r\ntwo\r": {"one", "two"}})
	valid(t, map[string]env.Host{"web.example.org\r": "web.example.org"})
	valid(t, map[string]env.Port{"22\r": 22})
	valid(t, map[string]env.Duration{"30s\r": env.Duration(30 * time.Second)})
	valid(t, map[string]env.Bool{"true\r": true})
	valid(t, map[string]env.Path{"/a\r": "/a"})
	valid(t, map[string]env.Names{"a,b\r": {"a", "b"}})
	valid(t, map[string]env.URL{"https://example.org/\r": "https://example.org/"})
	valid(t, map[string]string{"plain\r": "plain"})

	const within = "holds a carriage return within its text"
	refused[env.Text](t, map[string]string{"one\rtwo": within, "one\r\r\ntwo": within})
	refused[env.Lines](t, map[string]string{"one\rtwo": within})
	refused[string](t, map[string]string{"one\rtwo": within})
}

func TestBool(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.Bool{"true": true, "yes": true, "1": true, "false": false, "no": false, "0": false})
	refused[env.Bool](t, map[string]string{"TRUE": "is neither", "on": "is neither", "maybe": "is neither", "2": "is neither"})
}

func TestPath(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	assert.NilError(t, err)
	valid(t, map[string]env.Path{"/a/../b/": "/b", "x/y": env.Path(here + "/x/y"), "-x": env.Path(here + "/-x")})
	refused[env.Path](t, map[string]string{
		"~/x": "starts with ~, which only a shell expands", "/a\x00b": "holds a line end or another control character",
	})
	valid(t, map[string]env.Paths{"/a": {"/a"}, "x.json, /b/../c": {env.Path(here + "/x.json"), "/c"}})
	refused[env.Paths](t, map[string]string{
		"/a,": "has an empty name before, after or between its commas", "/a,~/x": "starts with ~, which only a shell expands",
	})
}

func TestURL(t *testing.T) {
	t.Parallel()
	valid(t, map[string]env.URL{
		"http://127.0.0.1:8080/state?x=1": "http://127.0.0.1:8080/state?x=1",
		"https://[::1]/":                  "https://[::1]/",
	})
	refused[env.URL](t, map[string]string{
		"example.org":       "starts with neither http:// nor https://",
		"ftp://example.org": "starts with neither http:// nor https://",
		"https://":          "names no host",
		"http://:80/":       "names no host",
		"http://a b/":       "is not an address",
		"http://a\n/":       "holds a line end or another control character",
	})
	_, err := load[env.URL](t, "https://me:s3cr3t@example.org/x")
	assert.DeepEqual(t, problemsOf(t, err), []string{
		`X: "https://[redacted]@example.org/x" holds a user or password, which the address must not`,
	})
	_, err = load[env.URL](t, "https://me:s3cr3t%zz@example.org/x")
	assert.DeepEqual(t, problemsOf(t, err), []string{`X: "https://[redacted]@example.org/x" is not an address`})
}
