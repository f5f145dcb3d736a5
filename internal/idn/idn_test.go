package idn_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/internal/idn"
)

func TestNamesOfOtherLetters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, name, want, fault string }{
		{"ASCII", "Web-1.Example.org", "web-1.example.org", ""},
		{"what is no host name", "_443._tcp.*.a b..", "_443._tcp.*.a b..", ""},
		{"an umlaut", "Bücher.example", "xn--bcher-kva.example", ""},
		{"decomposed", "bu\u0308cher", "xn--bcher-kva", ""},
		{"in its ASCII form", "XN--bcher-KVA.example", "xn--bcher-kva.example", ""},
		{"ß stays", "straße", "xn--strae-oqa", ""},
		{"Japanese", "例え.テスト", "xn--r8jz45g.xn--zckzah", ""},
		{"Arabic", "مثال", "xn--mgbh0fb", ""},
		{"another full stop", "bücher。example", "xn--bcher-kva.example", ""},
		{"Catalan", "col·lapse", "xn--collapse-ioa", ""},
		{"the dot of Catalan elsewhere", "a·b", "", "'·' (U+00B7) may not stand there"},
		{"the dot of Japanese alone", "a・b", "", "'・' (U+30FB) may not stand there"},
		{"the dot of Japanese", "ア・ア", "xn--ccka0y", ""},
		{"a symbol", "☃", "", `the label "☃" is no international one: '☃' (U+2603) is neither a letter nor a digit`},
		{"a symbol in its ASCII form", "a.xn--n3h", "", `the label "xn--n3h" is no international one: '☃' (U+2603)`},
		{"an emoji", "i❤dns.example", "", "(U+2764) is neither a letter"},
		{"a single part of a syllable", "ᄀ", "", "(U+1100) is neither a letter"},
		{"a stretched line", "aـ", "", "is no international one"},
		{"two directions", "אa", "", "is no international one"},
		{"a blank", "bü cher", "", "is no international one"},
		{"no Punycode", "xn--\u00fc", "", "is no international one"},
		{"Punycode of nothing", "xn--", "", "is no international one"},
		{"Punycode of ASCII", "xn--abc-", "", "is no international one"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			got, err := idn.ASCII(c.name)
			if c.fault != "" {
				assert.ErrorContains(t, err, c.fault)
				return
			}
			assert.NilError(t, err)
			assert.Equal(t, got, c.want)
			again, err := idn.ASCII(got)
			assert.NilError(t, err)
			assert.Equal(t, again, got)
			assert.Assert(t, idn.IsASCII(got) && strings.ToLower(got) == got)
		})
	}
}
