package page

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	nethtml "golang.org/x/net/html"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"

	"fediversity.eu/slipway/checks/reports"
	"fediversity.eu/slipway/targets/graph"
	"fediversity.eu/slipway/targets/report"
)

func rendered(t *testing.T, r *report.Record) string {
	t.Helper()
	text, err := Render(r)
	assert.NilError(t, err)
	_, err = nethtml.Parse(strings.NewReader(string(text)))
	assert.NilError(t, err)
	return string(text)
}

func TestPages(t *testing.T) {
	for name, r := range map[string]*report.Record{"combined": reports.Combined(3), "plan": reports.Planned()} {
		t.Run(name, func(t *testing.T) {
			text := rendered(t, r)
			assert.Assert(t, cmp.Contains(text, "<h1>"+r.Program+"</h1>"))
			golden.Assert(t, text, name+".html.golden")
		})
	}
}

// TestEverythingOfARecordIsOnThePage fills every field that a record has, now or
// later, and looks for what is in it.
func TestEverythingOfARecordIsOnThePage(t *testing.T) {
	r := &report.Record{}
	var texts []string
	fill(reflect.ValueOf(r).Elem(), "Record", &texts)
	r.Members, r.ExitCode = nil, report.Unhealthy
	r.Units[0].Class = "new"
	r.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Ended = r.Started.Add(time.Hour)
	text := html.UnescapeString(rendered(t, r))
	assert.Assert(t, len(texts) > 40, "%d", len(texts))
	for _, want := range texts {
		if want == "«Record.Units.Class»" {
			continue // it was set above
		}
		assert.Assert(t, strings.Contains(text, want), "%s is not on the page: targets/page/facts.go says what a record holds", want)
	}
}

// fill gives every text and number below v a value of its own.
func fill(v reflect.Value, where string, texts *[]string) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Name != "Members" && field.Name != "Version" {
				fill(v.Field(i), where+"."+field.Name, texts)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), where, texts)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), where, texts)
	case reflect.String:
		v.SetString("«" + where + "»")
		*texts = append(*texts, v.String())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Uint64, reflect.Int64:
		n := 1000 + len(*texts)
		switch {
		case strings.Contains(where, "Bytes"):
			*texts = append(*texts, fmt.Sprintf("%d.0 TiB", n))
			n <<= 40
		case !strings.HasSuffix(where, "ExitCode") && !strings.HasSuffix(where, "ExitStatus"): // in words elsewhere
			*texts = append(*texts, fmt.Sprint(n))
		}
		if v.CanInt() {
			v.SetInt(int64(n))
		} else {
			v.SetUint(uint64(n))
		}
	case reflect.Float64:
		v.SetFloat(float64(10 + len(*texts)%40))
		*texts = append(*texts, fmt.Sprintf("%.1f s", v.Float()))
	default:
		panic(where + ": " + v.Kind().String())
	}
}

func TestTextOfOthersIsText(t *testing.T) {
	const hostile = `</pre></style><script>alert(1)</script><img src=http://192.0.2.1/x onerror="x" style='y'>{{.}}`
	r := reports.Combined(3)
	for _, m := range r.Members {
		m.Machine, m.Outcome, m.Error = m.Machine+hostile, hostile, &report.Problem{What: hostile, Hints: []string{hostile}}
		m.Toplevel, m.Timings = hostile, append(m.Timings, report.Timing{Step: hostile, Started: m.Started, Seconds: 9})
		for i := range m.Units {
			m.Units[i].Name, m.Units[i].Fault, m.Units[i].Journal = hostile, hostile, []string{hostile}
		}
	}
	root, err := nethtml.Parse(strings.NewReader(rendered(t, r)))
	assert.NilError(t, err)
	for n := range root.Descendants() {
		if n.Type != nethtml.ElementNode {
			continue
		}
		assert.Assert(t, n.Data != "script" && n.Data != "img", n.Data)
		for _, a := range n.Attr {
			assert.Assert(t, !strings.HasPrefix(a.Key, "on"), a.Key)
			if a.Key == "href" {
				assert.Assert(t, strings.HasPrefix(a.Val, "#") || a.Val == "data:,", a.Val)
			}
			assert.Assert(t, a.Key != "src", a.Val)
		}
	}
}

func TestNothingOfOthersMovesAReader(t *testing.T) {
	const hostile = "\x1b[2J\u202ex\u2028\xff\x00\ufffe"
	r := reports.Combined(3)
	r.Members[0].Outcome, r.Members[0].Error = hostile, &report.Problem{What: hostile, Hints: []string{hostile}}
	text := rendered(t, r)
	assert.Assert(t, !strings.ContainsAny(text, "\x1b\u202e\u2028\x00\ufffe"))
	assert.Equal(t, r.Members[0].Outcome, hostile, "the record itself is left alone")
}

func TestHeadingsLeaveNoLevelOut(t *testing.T) {
	for name, r := range map[string]*report.Record{"several": reports.Combined(3), "one": reports.Combined(3).Members[2]} {
		t.Run(name, func(t *testing.T) {
			last := 0
			found := regexp.MustCompile(`<h([1-6])[ >]`).FindAllStringSubmatch(rendered(t, r), -1)
			assert.Assert(t, len(found) > 4)
			for _, m := range found {
				level := int(m[1][0] - '0')
				assert.Assert(t, level <= last+1, "h%d after h%d", level, last)
				last = level
			}
		})
	}
}

func TestStepsWithoutABeginningComeOneAfterAnother(t *testing.T) {
	r := reports.Combined(1).Members[0]
	for i := range r.Timings {
		r.Timings[i].Started = time.Time{}
	}
	next := r.Started
	for _, s := range stepsOf(r) {
		assert.Assert(t, s.Began.Equal(next), s.Name)
		next = next.Add(s.Took)
	}
	assert.Assert(t, !next.After(r.Ended))
}

func TestAxesHaveRoundTicks(t *testing.T) {
	for _, c := range []struct {
		long  time.Duration
		ticks string
	}{
		{0, "0 s"},
		{9 * time.Millisecond, "0 s, 2 ms, 4 ms, 6 ms"},
		{400 * time.Millisecond, "0 s, 0.1 s, 0.2 s, 0.3 s"},
		{9 * time.Second, "0 s, 2 s, 4 s, 6 s"},
		{80 * time.Second, "0 s, 15 s, 30 s, 45 s, 1m00s"},
		{20 * time.Minute, "0 s, 5m00s, 10m00s, 15m00s"},
		{200 * time.Hour, "0 s, 40h00m, 80h00m, 120h00m, 160h00m"},
	} {
		a := newAxis(reports.Began, reports.Began.Add(c.long))
		var texts []string
		for _, tick := range a.Ticks {
			texts = append(texts, tick.Text)
		}
		assert.Equal(t, strings.Join(texts, ", "), c.ticks)
	}
}

func TestNoBarLeavesItsAxis(t *testing.T) {
	a := newAxis(reports.Began, reports.Began.Add(time.Minute))
	for _, c := range []struct {
		began, took time.Duration
		place       string
	}{
		{0, time.Minute, "left:0.00%;width:100.00%"},
		{-time.Hour, time.Second, "left:0.00%;width:1.67%"},
		{30 * time.Second, time.Hour, "left:50.00%;width:50.00%"},
		{time.Hour, time.Second, "left:99.60%;width:0.40%"},
		{15 * time.Second, 0, "left:25.00%;width:0.40%"},
	} {
		got := a.bar(step{Began: reports.Began.Add(c.began), Took: c.took})
		assert.Equal(t, string(got.Place), c.place)
	}
}

func TestAPageIsWrittenWithoutSecrets(t *testing.T) {
	const hush = `hush<"&'>hush`
	r := reports.Combined(3)
	r.Members[2].Units[0].Journal = []string{"token " + hush}
	path := filepath.Join(t.TempDir(), "page.html")
	assert.NilError(t, Write(path, r, func(text string) string { return strings.ReplaceAll(text, hush, "[redacted]") }))
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(text), "token [redacted]"))
	assert.Assert(t, !strings.Contains(html.UnescapeString(string(text)), hush))
	assert.Equal(t, r.Members[2].Units[0].Journal[0], "token "+hush, "the record itself is left alone")
	assert.ErrorContains(t, Write(filepath.Join(path, "x"), r, nil), "write page: ")
}

// TestSizeOfAPage tells how large pages are, and holds them to what a browser
// opens at once.
func TestSizeOfAPage(t *testing.T) {
	for machines, most := range map[int]int{5: 64 << 10, 500: 4 << 20} {
		text := rendered(t, reports.Combined(machines))
		t.Logf("%d machines: %d bytes", machines, len(text))
		assert.Assert(t, len(text) < most, "%d machines: %d bytes", machines, len(text))
	}
}

func BenchmarkRender(b *testing.B) {
	for _, machines := range []int{5, 500} {
		r := reports.Combined(machines)
		b.Run(fmt.Sprint(machines), func(b *testing.B) {
			for b.Loop() {
				if _, err := Render(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestRunsOfSeveralGroupsAreNamedWithTheirs(t *testing.T) {
	member := func(group, machine, effect, verb string) *report.Record {
		return &report.Record{Program: group + "-" + machine + effect + "-" + verb, Group: group, Machine: machine, Effect: effect, Verb: verb}
	}
	for name, c := range map[string]struct {
		members []*report.Record
		want    string
	}{
		"one group":      {[]*report.Record{member("a", "web", "", "apply"), member("a", "", "dns", "apply")}, "web, dns"},
		"several groups": {[]*report.Record{member("a", "", "image", "publish"), member("b", "", "image", "publish"), member("b", "web", "", "apply")}, "a image, b image, b web"},
		"one machine by two verbs": {
			[]*report.Record{member("a", "web", "", "apply"), member("a", "web", "", "verify"), member("b", "db", "", "apply")}, "a-web-apply, a-web-verify, b db",
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &view{}
			v.collect(&report.Record{Program: "whole", Members: c.members})
			v.name()
			var names []string
			for _, r := range v.Runs {
				names = append(names, r.Name)
			}
			assert.Equal(t, strings.Join(names, ", "), c.want)
		})
	}
}

// FuzzRecords makes a page and a drawing of whatever is taken for a record: the
// drawing within it is well-formed, and nothing ends the program.
func FuzzRecords(f *testing.F) {
	for _, r := range []*report.Record{reports.Combined(2)} {
		text, err := json.Marshal(r)
		assert.NilError(f, err)
		f.Add(text)
	}
	for _, seed := range []string{
		`{"version":1,"program":"x","members":[null]}`, `{"version":1,"program":"x","members":[{"members":[null]}]}`,
		`{"version":1,"program":"x","timings":[{"step":"a","seconds":-1},{"step":"b","seconds":1e300}]}`,
		`{"version":1,"program":"\u001b\ufffe","outcome":"<","units":[{}],"plan":{},"state":{},"error":{}}`,
		`{"version":1,"program":"x","members":[{"program":"a","needs":["a","b"]},{"program":"b","needs":["a"]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "record.json")
		assert.NilError(t, os.WriteFile(path, text, 0o600))
		r, err := report.ReadRecord(path)
		if err != nil {
			return
		}
		page, err := Render(r)
		assert.NilError(t, err)
		assert.Assert(t, utf8.Valid(page))
		picture, err := graph.Of(r).SVG()
		assert.NilError(t, err)
		assert.NilError(t, xml.Unmarshal(picture, new(struct{ XMLName xml.Name })))
	})
}
