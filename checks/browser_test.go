//go:build checks

package checks

import (
	"bytes"
	"context"
	_ "embed" // what is looked at in a page
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/wait"
)

//go:embed testdata/page.js
var looks string

// Bounds of a browser.
const (
	browserStart = 2 * time.Minute
	browserStop  = time.Minute
)

// quiet are the flags that keep a browser from asking anybody but its pages.
var quiet = []string{
	"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--disable-default-apps", "--hide-scrollbars", "--remote-debugging-port=0",
}

// browser is a Chromium without a window, with a profile of its own.
type browser struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // chromedp keeps a browser in one
	mu   sync.Mutex
	says []string // its pages' consoles
	asks []string // addresses that its pages asked for
}

// newBrowser starts a browser, which ends with the test and leaves nothing.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	const path = "PATH=/usr/local/bin:/usr/bin:/bin"
	if _, err := child.Find("chromium", []string{path}); err != nil {
		t.Skip("missing part: chromium")
	}
	profile := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	var stderr bytes.Buffer
	go func() {
		defer close(ended)
		_ = child.Command{
			Path: "chromium", Args: append(append([]string{}, quiet...), "--user-data-dir="+profile, "about:blank"),
			Env:    []string{path, "HOME=" + profile, "TMPDIR=" + profile, "LANG=C.UTF-8", "TZ=UTC"},
			Stderr: &stderr, Grace: browserStop, Orphan: syscall.SIGKILL,
		}.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Logf("the browser said:\n%s", stderr.String())
		}
		noProcessOf(t, profile)
	})
	address := debugged(ctx, t, profile)
	allocator, release := remote.NewAllocator(ctx, address, remote.NoModifyURL, remote.WithDialTimeout(browserStart))
	t.Cleanup(release)
	page, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	b := &browser{t: t, ctx: page}
	assert.NilError(t, chromedp.Listen(page, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, cdplog.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	return b
}

// debugged waits for the address at which a browser is driven (Chrome DevTools
// Protocol, "DevToolsActivePort").
func debugged(ctx context.Context, t *testing.T, profile string) string {
	t.Helper()
	address := ""
	err := wait.For{What: "the browser", Limit: browserStart, Interval: 50 * time.Millisecond}.Until(ctx, func(context.Context) error {
		text, err := os.ReadFile(filepath.Join(profile, "DevToolsActivePort"))
		if err != nil {
			return err
		}
		port, path, ok := strings.Cut(string(text), "\n")
		if !ok || !strings.HasPrefix(path, "/") {
			return errors.New("its file is not whole yet")
		}
		address = "ws://127.0.0.1:" + port + path
		return nil
	})
	assert.NilError(t, err)
	return address
}

// processesOf lists the processes that have a text in their command line or in
// their environment.
func processesOf(text string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		environment, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if bytes.Contains(line, []byte(text)) || bytes.Contains(environment, []byte(text)) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// noProcessOf waits until there is no such process. Chromium's crash handlers are in
// sessions of their own, and end when they see that it has; so do shells whose
// terminal went away.
func noProcessOf(t *testing.T, text string) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if left := processesOf(text); len(left) > 0 {
			return poll.Continue("processes are left: %q", left)
		}
		return poll.Success()
	}, poll.WithTimeout(browserStop), poll.WithDelay(20*time.Millisecond))
}

// hear keeps what pages say and ask for.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.says = append(b.says, fmt.Sprintf("console: %s: %d values", e.Type, len(e.Args)))
	case *runtime.EventExceptionThrown:
		b.says = append(b.says, "exception: "+e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		b.says = append(b.says, fmt.Sprintf("log: %s: %s (%s)", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *network.EventRequestWillBeSent:
		b.asks = append(b.asks, e.Request.URL)
	}
}

// heard gives what pages said and asked for up to now.
func (b *browser) heard() (says, asks []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.says...), append([]string{}, b.asks...)
}

// in is the browser as a subtest uses it.
func (b *browser) in(t *testing.T) *browser {
	b.t = t
	return b
}

// call gives the browser a command of its protocol.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	assert.NilError(b.t, err)
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	assert.NilError(b.t, chromedp.Do(b.ctx, steps...))
}

// open shows a page in a window of some width, in light colours or dark ones.
func (b *browser) open(address string, width int64, scheme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(address))
}

// look asks a page for what one of the functions of testdata/page.js gives.
func look[T any](b *browser, function string) T {
	b.t.Helper()
	given, err := chromedp.Run(b.ctx, chromedp.Evaluate[T]("(() => {"+looks+"\nreturn "+function+"})()"))
	assert.NilError(b.t, err)
	return given
}

// picture takes a picture of the whole page and keeps it with what the test leaves.
func (b *browser) picture(name string) image.Image {
	b.t.Helper()
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	assert.NilError(b.t, err)
	assert.NilError(b.t, os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), shot, 0o600))
	shown, err := png.Decode(bytes.NewReader(shot))
	assert.NilError(b.t, err)
	return shown
}

// brightness is how light a picture is on the whole, from 0 to 1, and in how many
// colours.
func brightness(of image.Image) (mean float64, colours int) {
	seen := map[[3]uint32]bool{}
	sum, count := 0.0, 0
	area := of.Bounds()
	for y := area.Min.Y; y < area.Max.Y; y += 3 {
		for x := area.Min.X; x < area.Max.X; x += 3 {
			r, g, b, _ := of.At(x, y).RGBA()
			seen[[3]uint32{r >> 8, g >> 8, b >> 8}] = true
			sum += float64(r+g+b) / (3 * 0xffff)
			count++
		}
	}
	return sum / float64(count), len(seen)
}
