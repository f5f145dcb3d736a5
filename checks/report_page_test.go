//go:build checks

package checks

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/checks/reports"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/page"
	"fediversity.eu/slipway/targets/report"
)

// readable is the least contrast of text (WCAG 2.2, 1.4.3 at level AA).
const readable = 4.5

// TestReportPage opens pages about runs in a browser and does what readers do.
func TestReportPage(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	path, record := aRun(t)
	pages := map[string]string{"run": path}
	for name, r := range map[string]*report.Record{
		"five": reports.Combined(5), "one": reports.Combined(3).Members[2], "plan": reports.Planned(), "many": reports.Combined(500),
	} {
		pages[name] = filepath.Join(dir, name+".html")
		assert.NilError(t, page.Write(pages[name], r, nil))
		info, err := os.Stat(pages[name])
		assert.NilError(t, err)
		t.Logf("%s: %d bytes", name, info.Size())
	}
	for _, name := range []string{"run", "five", "one", "plan"} {
		address := "file://" + pages[name]
		t.Run(name+" is readable", func(t *testing.T) { b.in(t).readable(name, address) })
		t.Run(name+" by its structure", func(t *testing.T) { b.in(t).structured(address) })
		t.Run(name+" by keyboard", func(t *testing.T) { b.in(t).byKeyboard(address) })
	}
	t.Run("five in a hurry", func(t *testing.T) { b.in(t).hurried("file://" + pages["five"]) })
	for name, path := range graphs(t, record) {
		t.Run("picture of "+name, func(t *testing.T) { b.in(t).drawn(name, path) })
	}
	t.Run("500 machines", func(t *testing.T) { b.in(t).many("file://" + pages["many"]) })
	t.Run("over HTTP", func(t *testing.T) { b.in(t).served(pages["five"]) })
	t.Run("asks nobody and complains of nothing", func(t *testing.T) {
		says, asks := b.heard()
		assert.DeepEqual(t, says, []string{})
		assert.Assert(t, len(asks) > 10, "%q", asks)
		for _, address := range asks {
			inside := strings.HasPrefix(address, "file://"+os.TempDir()) || strings.HasPrefix(address, "http://127.0.0.1:") || address == "data:,"
			assert.Assert(t, inside, "a page asked for %s", address)
		}
	})
}

// readable looks at a page in two widths and both kinds of colours.
func (b *browser) readable(name, address string) {
	light := map[int64]float64{}
	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 1280} {
			b.open(address, width, scheme)
			look[int](b, "openAll()")
			out := look[sticking](b, "wide()")
			assert.Equal(b.t, out.Page, 0.0, "%d pixels: it can be scrolled to the right", width)
			assert.Assert(b.t, cmp.Len(out.Elements, 0), "%d pixels: %q", width, out.Elements)
			b.contrast(20)
			mean, colours := brightness(b.picture(strings.Join([]string{name, scheme, map[bool]string{true: "narrow", false: "wide"}[width < 600]}, "-")))
			assert.Assert(b.t, colours > 20, "%d colours", colours)
			if scheme == "light" {
				light[width] = mean
				continue
			}
			assert.Assert(b.t, mean < 0.4 && light[width] > 0.7, "light %.2f, dark %.2f", light[width], mean)
		}
	}
}

// contrast holds every text that is shown, which are more than some, to what can
// be read.
func (b *browser) contrast(some int) {
	texts := look[[]struct {
		Text        string
		Ratio, Size float64
	}](b, "texts()")
	assert.Assert(b.t, len(texts) > some, "%d texts", len(texts))
	least := texts[0]
	for _, text := range texts {
		assert.Check(b.t, text.Ratio >= readable, "%q has a contrast of %.2f", text.Text, text.Ratio)
		assert.Check(b.t, text.Size >= 12, "%q is %.1f pixels high", text.Text, text.Size)
		if text.Ratio < least.Ratio {
			least = text
		}
	}
	b.t.Logf("%d texts, the least contrast is %.2f (%q)", len(texts), least.Ratio, least.Text)
}

// sticking is what sticks out of a page.
type sticking struct {
	Page     float64 // in pixels
	Elements []string
}

// structure is what a page is made of.
type structure struct {
	Language, Title           string
	Landmarks                 []int
	Headings, Firsts, Unnamed int
	Tables, Headless, Scripts int
	Rows, Details             int
	Twice                     []string
}

// structured looks at what a reader who sees no picture goes by.
func (b *browser) structured(address string) {
	b.open(address, 1280, "light")
	s := look[structure](b, "structure()")
	assert.Equal(b.t, s.Language, "en")
	assert.Assert(b.t, cmp.Contains(s.Title, ": operator-"))
	assert.DeepEqual(b.t, s.Landmarks, []int{1, 1, 1})
	assert.Equal(b.t, s.Firsts, 1)
	assert.Assert(b.t, s.Headings > 3 && s.Tables > 0)
	assert.DeepEqual(b.t, []int{s.Unnamed, s.Headless, s.Scripts}, []int{0, 0, 0})
	assert.DeepEqual(b.t, s.Twice, []string{})
}

// focus is what has the focus.
type focus struct {
	Tag, Text             string
	Shown, Outlined, Open bool
}

// press presses a key and tells what has the focus then.
func (b *browser) press(key string) focus {
	b.t.Helper()
	b.do(chromedp.KeyEvent(key))
	return look[focus](b, "focused()")
}

// byKeyboard goes through a page with Tab, opens with Enter what is closed, and
// closes and opens what is open.
func (b *browser) byKeyboard(address string) {
	b.open(address, 1280, "light")
	f := b.press(kb.Tab)
	assert.Equal(b.t, f.Text, "To the content")
	opened := 0
	for steps := 0; f.Tag != ""; steps++ {
		assert.Assert(b.t, steps < 200, "the focus never leaves the page")
		assert.Assert(b.t, f.Shown && f.Outlined, "%+v", f)
		if f.Tag == "summary" {
			before := f.Open
			f = b.press(kb.Enter)
			assert.Assert(b.t, f.Tag == "summary" && f.Open != before, "Enter did nothing to %+v", f)
			if before {
				f = b.press(kb.Enter)
			}
			assert.Assert(b.t, f.Open)
			opened++
		}
		f = b.press(kb.Tab)
	}
	assert.DeepEqual(b.t, look[[]string](b, "unseen()"), []string{})
	b.t.Logf("%d parts opened by keyboard", opened)
}

// hurried goes through a page faster than it is drawn, as it happens on a busy
// host: what is laid out later must not push away what has the focus.
func (b *browser) hurried(address string) {
	b.open(address, 1280, "light")
	for i := range look[int](b, "summaries().length") {
		b.open(address, 1280, "light")
		look[int](b, fmt.Sprintf("hurry(%d)", i))
		_, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot()) // draws it
		assert.NilError(b.t, err)
		f := look[focus](b, "focused()")
		assert.Assert(b.t, f.Tag == "summary" && f.Shown, "%d: %+v", i, f)
	}
}

// many opens the page of a large run.
func (b *browser) many(address string) {
	began := time.Now()
	b.open(address, 360, "light")
	b.t.Logf("open after %.1f s", time.Since(began).Seconds())
	s := look[structure](b, "structure()")
	assert.Equal(b.t, s.Rows, 502)
	assert.Equal(b.t, s.Details, 502)
	assert.DeepEqual(b.t, s.Twice, []string{})
	out := look[sticking](b, "wide()")
	assert.Equal(b.t, out.Page, 0.0, "%q", out.Elements)
}

// served opens a page over HTTP, where a browser could ask for more than the page.
func (b *browser) served(path string) {
	var mu sync.Mutex
	var asked []string
	files := http.FileServer(http.Dir(filepath.Dir(path)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	b.open(server.URL+"/"+filepath.Base(path), 1280, "light")
	b.picture("served")
	mu.Lock()
	defer mu.Unlock()
	assert.DeepEqual(b.t, asked, []string{"/" + filepath.Base(path)})
}

// aRun gives the page and the record of a real run, of which no machine can be
// reached.
func aRun(t *testing.T) (string, *report.Record) {
	t.Helper()
	w := newWorld(t)
	key := filepath.Join(w.dir, "key")
	assert.NilError(t, child.Command{Path: "ssh-keygen", Env: pairs(w.env), Args: []string{"-q", "-t", "ed25519", "-N", "", "-f", key}}.Run(t.Context()))
	public, err := os.ReadFile(key + ".pub")
	assert.NilError(t, err)
	path := filepath.Join(t.TempDir(), "page.html")
	const nobody = "1" // a port that nobody is given by chance
	o := w.slipway(map[string]string{
		"WEB_SSH_HOST": "127.0.0.1", "FORGE_SSH_HOST": "127.0.0.1", "WEB_SSH_PORT": nobody, "FORGE_SSH_PORT": nobody, "SSH_CONNECT_TIMEOUT": "1s",
		"WEB_SSH_HOST_KEY": string(public), "FORGE_SSH_HOST_KEY": string(public), "SSH_KEY_FILE": key, "REPORT_HTML": path,
	}, "operator-ssh-all-verify")
	assert.Equal(t, o.record.Program, "operator-ssh-all-verify")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Assert(t, cmp.Contains(string(text), "<h1>operator-ssh-all-verify</h1>"))
	secret, err := os.ReadFile(key)
	assert.NilError(t, err)
	for line := range strings.Lines(string(secret)) {
		assert.Assert(t, !strings.Contains(string(text), strings.TrimSpace(line)), "the key is on the page")
	}
	return path, o.record
}
