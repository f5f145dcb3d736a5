package journal

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []Entry
	}{
		{"nothing", "", nil},
		{
			"entries in order",
			`{"__CURSOR":"s=1;i=1","MESSAGE":"Starting web"}` + "\n" + `{"__CURSOR":"s=1;i=2","MESSAGE":"Started web"}` + "\n",
			[]Entry{{Cursor: "s=1;i=1", Message: "Starting web"}, {Cursor: "s=1;i=2", Message: "Started web"}},
		},
		{
			"fields that nobody asked for",
			`{"_PID":"1","MESSAGE":"hello","__CURSOR":"c","PRIORITY":"6"}`,
			[]Entry{{Cursor: "c", Message: "hello"}},
		},
		{
			"a message that is not UTF-8 comes as an array of bytes",
			`{"__CURSOR":"c","MESSAGE":[104,228,255,10]}`,
			[]Entry{{Cursor: "c", Message: "h\xe4\xff\n"}},
		},
		{"a message of several lines", `{"__CURSOR":"c","MESSAGE":"one\ntwo"}`, []Entry{{Cursor: "c", Message: "one\ntwo"}}},
		{"a message that is too long to be shown is null", `{"__CURSOR":"c","MESSAGE":null}`, []Entry{{Cursor: "c", Message: ""}}},
		{"no message", `{"__CURSOR":"c"}`, []Entry{{Cursor: "c", Message: ""}}},
		{"a field twice comes as an array of texts", `{"__CURSOR":"c","MESSAGE":["one","two"]}`, []Entry{{Cursor: "c", Message: ""}}},
		{
			"an entry that was cut off is left out",
			`{"__CURSOR":"c","MESSAGE":"whole"}` + "\n" + `{"__CURSOR":"d","MESSAGE":"ha`,
			[]Entry{{Cursor: "c", Message: "whole"}},
		},
		{
			"lines of other kinds are left out",
			"ActiveState=active\n\n-- No entries --\n" + `{"__CURSOR":"c","MESSAGE":"whole"}` + "\n",
			[]Entry{{Cursor: "c", Message: "whole"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.DeepEqual(t, Parse(c.text), c.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"__CURSOR":"c","MESSAGE":"x"}`)
	f.Add(`{"MESSAGE":[1,2,300,-1]}`)
	f.Add("{}\n{}\n[1]\nnull\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Count(text, "\n") + 1
		if got := len(Parse(text)); got > lines {
			t.Errorf("%d entries of %d lines", got, lines)
		}
	})
}
