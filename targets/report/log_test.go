package report

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// kept is a sink that keeps events as a reader may have them.
type kept struct {
	mu     sync.Mutex
	events []Event
}

func (k *kept) Take(e Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, e.shown())
}

func (k *kept) texts() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var texts []string
	for _, e := range k.events {
		texts = append(texts, e.Text)
	}
	return texts
}

func TestLogNamesProgramAndStep(t *testing.T) {
	sink := &kept{}
	log := NewLog(sink).For("operator-ssh-web-apply").In("copy")
	log.Infof("%d paths", 3)
	log.Warnf("slow")
	log.Troublef("lost")
	log.Progress(5, 10)
	assert.Assert(t, cmp.Len(sink.events, 4))
	for i, want := range []Event{
		{Kind: KindLine, Level: Info, Text: "3 paths"},
		{Kind: KindLine, Level: Warning, Text: "slow"},
		{Kind: KindLine, Level: Trouble, Text: "lost"},
		{Kind: KindProgress, Level: Info, Done: 5, Total: 10},
	} {
		got := sink.events[i]
		assert.Assert(t, !got.Time.IsZero())
		want.Time, want.Program, want.Step = got.Time, "operator-ssh-web-apply", "copy"
		assert.DeepEqual(t, got, want)
	}
}

func TestLogStartsAnewForAProgram(t *testing.T) {
	sink := &kept{}
	NewLog(sink).For("one").In("copy").For("two").Infof("hello")
	assert.Equal(t, sink.events[0].Program, "two")
	assert.Equal(t, sink.events[0].Step, "")
}

func TestSeveralLinesAreSeveralEvents(t *testing.T) {
	sink := &kept{}
	NewLog(sink).Infof("one\n\ntwo\n")
	assert.DeepEqual(t, sink.texts(), []string{"one", " ", "two"})
}

func TestZeroLogDiscards(t *testing.T) {
	var log Log
	log.For("x").In("y").Infof("nobody hears")
	log.Progress(1, 2)
	lines := log.Lines()
	_, err := io.WriteString(lines, "nobody reads\n")
	assert.NilError(t, err)
	assert.NilError(t, lines.Close())
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string
		want   []string
	}{
		{"nothing", nil, nil},
		{"a line", []string{"one\n"}, []string{"one"}},
		{"several in one write", []string{"one\ntwo\nthree\n"}, []string{"one", "two", "three"}},
		{"one in several writes", []string{"o", "n", "e", "\n"}, []string{"one"}},
		{"a write that ends within a line", []string{"one\ntw", "o\n"}, []string{"one", "two"}},
		{"a last line without an end", []string{"one\ntwo"}, []string{"one", "two"}},
		{"an empty line stays one", []string{"one\n\ntwo\n"}, []string{"one", " ", "two"}},
		{"line ends of terminals", []string{"one\r\ntwo\r\n"}, []string{"one", "two"}},
		{"what a progress bar overwrote is dropped", []string{"10 %\r50 %\r", "100 %\n"}, []string{"100 %"}},
		{"a progress bar that ends in a return", []string{"10 %\r100 %\r\n"}, []string{"100 %"}},
		{"a letter split between writes", []string{"gr\xc3", "\xbcn\n"}, []string{"grün"}},
		{"bytes that are not UTF-8", []string{"a\xffb\xfe\n"}, []string{"a\uFFFDb\uFFFD"}},
		{"control characters are dropped", []string{"\a\x1b[31mred\x1b[0m\x7f\u009b2J\x00\n"}, []string{"red"}},
		{"a tab stays", []string{"a\tb\n"}, []string{"a\tb"}},
		{"nothing but control characters", []string{"\x1b\x1b\n"}, []string{" "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sink := &kept{}
			lines := NewLog(sink).For("p").Lines()
			for _, text := range c.writes {
				n, err := io.WriteString(lines, text)
				assert.NilError(t, err)
				assert.Equal(t, n, len(text))
			}
			assert.NilError(t, lines.Close())
			assert.DeepEqual(t, sink.texts(), c.want)
			for _, e := range sink.events {
				assert.Equal(t, e.Level, Output)
				assert.Equal(t, e.Program, "p")
			}
		})
	}
}

func TestALineWithoutEndIsShownByBothItsEnds(t *testing.T) {
	sink := &kept{}
	writer := NewLog(sink).Lines()
	_, _ = io.WriteString(writer, "begins, ")
	for range 1000 {
		_, _ = io.WriteString(writer, strings.Repeat("x", 1000))
		held := writer.(*lines)
		assert.Assert(t, cap(held.buf)+cap(held.head) < 4*longestLine)
	}
	_, _ = io.WriteString(writer, ", ends\nnext")
	assert.NilError(t, writer.Close())
	texts := sink.texts()
	assert.Assert(t, cmp.Len(texts, 2))
	assert.Assert(t, cmp.Regexp(`^begins, x+… \(\d+ bytes cut\) …x+, ends$`, texts[0]))
	assert.Equal(t, texts[1], "next")
}

func TestLinesOfSeveralWritersStayWhole(t *testing.T) {
	sink := &kept{}
	lines := NewLog(sink).Lines()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				_, _ = fmt.Fprintf(lines, "writer %d line %d\n", i, j)
			}
		})
	}
	all.Wait()
	texts := sink.texts()
	assert.Assert(t, cmp.Len(texts, 800))
	for _, text := range texts {
		assert.Assert(t, cmp.Regexp(`^writer \d line \d+$`, text))
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("one\ntwo\r\n\x1b[2Jthree"), 3)
	f.Add([]byte("\xff\xfe\r\r\n\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		sink := &kept{}
		lines := NewLog(sink).Lines()
		step = max(1, step)
		for start := 0; start < len(text); start += step {
			_, _ = lines.Write(text[start:min(start+step, len(text))])
			if step > len(text) {
				break
			}
		}
		_ = lines.Close()
		for _, line := range sink.texts() {
			if line == "" || !utf8.ValidString(line) || strings.ContainsAny(line, "\n\r\x1b") {
				t.Errorf("%q is no event's text", line)
			}
		}
	})
}
