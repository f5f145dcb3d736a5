package report

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clipperhouse/displaywidth"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/golden"
)

// TestTerminalAtTwoWidths shows what a person sees of a run in its middle and at
// its end.
func TestTerminalAtTwoWidths(t *testing.T) {
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := emulate(t, columns, 24)
				terminal := NewTerminal(e, Screen{Size: e.Size})
				log := NewLog(terminal)
				members := []string{"operator-ssh-web-apply", "operator-ssh-forge-apply", "operator-ssh-db-apply", "operator-ssh-日本-apply"}
				all := log.For("operator-ssh-all-apply")
				all.Start(members...)
				web, forge, db := log.For(members[0]), log.For(members[1]), log.For(members[2])
				web.Start()
				forge.Start()
				db.Start()
				time.Sleep(3 * time.Second)
				synctest.Wait()
				web.Infof("operator web is root@192.0.2.1:22")
				record := &Record{}
				record.Tell(web)
				copied := record.Time("copy")
				web.In("copy").Progress(3<<20, 10<<20)
				record = &Record{}
				record.Tell(forge)
				record.Time("verdict")
				forge.In("verdict").Infof("waiting for forgejo.service, postgresql.service and 私の長い名前のサービス.service to settle")
				time.Sleep(65 * time.Second)
				synctest.Wait()
				db.Troublef("connection refused: reach root@192.0.2.3:22: dial tcp 192.0.2.3:22: connect: connection refused")
				db.End(Outcome{Code: Unknown, Words: "unknown", Took: 65 * time.Second})
				log.For(members[3]).Start()
				time.Sleep(time.Second)
				synctest.Wait()
				golden.Assert(t, e.screen()+"\n", fmt.Sprintf("moving-%d.golden", columns))
				column, row := e.cursor()
				assert.Equal(t, column, 0, "the cursor waits at the corner of what moves")
				assert.Assert(t, cmp.Contains(strings.Split(e.screen(), "\n")[row], "operator-ssh-all-apply"))
				copied()
				forge.End(Outcome{Words: "healthy", Took: 66 * time.Second})
				web.End(Outcome{Words: "healthy", Took: 66 * time.Second})
				log.For(members[3]).End(Outcome{Words: "healthy", Took: time.Second})
				for i, member := range members {
					o := Outcome{Words: "healthy", Took: 66 * time.Second}
					text := member + "  healthy  66.0 s"
					if i == 2 {
						o = Outcome{Code: Unknown, Words: "unknown", Took: 65 * time.Second}
						text = member + "  unknown  65.0 s  connection refused: reach root@192.0.2.3:22: dial tcp 192.0.2.3:22: connect"
					}
					all.Row(member, o, text)
				}
				all.End(Outcome{Code: Unknown, Words: "unknown", Took: 66 * time.Second})
				terminal.Close()
				golden.Assert(t, e.screen()+"\n", fmt.Sprintf("ended-%d.golden", columns))
				column, row = e.cursor()
				assert.Equal(t, column, 0)
				assert.Equal(t, row, strings.Count(e.screen(), "\n")+1, "on the line after the last")
			})
		})
	}
}

// started starts n programs of a group whose names are as long as names get.
func started(log *Log, n int) []*Log {
	var logs []*Log
	for i := range n {
		logs = append(logs, log.For(fmt.Sprintf("hosting-provider-tf-incus-operator-machine-%d-state-list", i)))
		logs[i].Start()
	}
	return logs
}

func TestTerminalStaysWithinTheScreen(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {200, 50}, {40, 10}, {20, 5}, {8, 3}, {1, 1}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := emulate(t, size[0], size[1])
				terminal := NewTerminal(e, Screen{Size: e.Size})
				logs := started(NewLog(terminal), 60)
				for i := range 40 {
					for _, log := range logs {
						log.In("copy").Progress(int64(i), 40)
					}
					time.Sleep(time.Second)
					synctest.Wait()
				}
				if size[0] >= 20 {
					lines := strings.Split(e.screen(), "\n")
					assert.Equal(t, len(lines), max(1, size[1]-2))
					assert.Equal(t, lines[len(lines)-1], fmt.Sprintf("… and %d more", 60-len(lines)+1))
					assert.Assert(t, cmp.Contains(e.screen(), "m"), "minutes and more")
				}
				terminal.Close()
				assert.Equal(t, e.all(), "", "nothing is left of what moved")
			})
		})
	}
}

func TestTerminalOfAnotherSizeFromOneMomentToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := emulate(t, 200, 30)
		terminal := NewTerminal(e, Screen{Size: e.Size})
		logs := started(NewLog(terminal), 12)
		for i, size := range [][2]int{{60, 30}, {200, 10}, {80, 24}, {30, 8}, {200, 50}} {
			logs[0].For("p").Infof("line %d", i)
			time.Sleep(time.Second)
			synctest.Wait()
			e.resize(size[0], size[1])
			time.Sleep(2 * time.Second)
			synctest.Wait()
			for line := range strings.Lines(e.screen()) {
				assert.Assert(t, displaywidth.String(strings.TrimRight(line, "\n")) < size[0] || strings.HasPrefix(line, "["), "%q at %v", line, size)
			}
		}
		terminal.Close()
		for i := range 5 {
			assert.Equal(t, strings.Count(e.all(), fmt.Sprintf("line %d", i)), 1, e.all())
		}
		assert.Assert(t, !strings.Contains(e.screen(), "more"), "nothing is left of what moved:\n%s", e.screen())
	})
}

func TestSecondsPassWhenNothingHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := emulate(t, 80, 24)
		terminal := NewTerminal(e, Screen{Size: e.Size})
		log := NewLog(terminal).For("p")
		log.Start()
		log.In("verdict").Infof("waiting for nginx.service")
		for _, want := range []string{"1s", "2s", "3s"} {
			time.Sleep(time.Second)
			synctest.Wait()
			assert.Assert(t, strings.HasSuffix(e.screen(), "\np      "+want+"  verdict: waiting for nginx.service"), e.screen())
		}
		before := e.written()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		assert.Equal(t, e.written()-before, 10, "one frame a second")
		terminal.Close()
		after := e.written()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, e.written(), after, "the clock has ended")
		log.Infof("a last word")
		assert.Assert(t, strings.HasSuffix(e.screen(), "[p] a last word"), "what is said later is printed:\n%s", e.screen())
	})
}

func TestTerminalIsNotDrawnAtEveryEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := emulate(t, 80, 24)
		terminal := NewTerminal(e, Screen{Size: e.Size})
		log := NewLog(terminal).For("p")
		log.Start()
		lines := log.In("build").Lines()
		for i := range 1000 { // within one second
			log.In("copy").Progress(int64(i), 1000)
			_, _ = fmt.Fprintf(lines, "line %d\n", i)
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		assert.Assert(t, e.written() >= 9 && e.written() <= 12, "%d frames", e.written())
		terminal.Close()
		assert.Equal(t, strings.Count(e.all(), "| line "), 1000, "no line is lost")
	})
}

func TestResultsOnTheSameTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := emulate(t, 80, 24)
		terminal := NewTerminal(e, Screen{Size: e.Size})
		out := terminal.Results(e)
		log := NewLog(terminal).For("p")
		log.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		_, _ = io.WriteString(out, "first\nsec")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Assert(t, cmp.Regexp(`^first\np +2s$`, e.screen()))
		_, _ = io.WriteString(out, "ond\nwithout an end")
		log.Infof("said")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Assert(t, cmp.Regexp(`^first\nsecond\n\[p\] said\np +3s  said$`, e.screen()))
		terminal.Close()
		assert.NilError(t, out.Flush())
		assert.Equal(t, e.screen(), "first\nsecond\n[p] said\nwithout an end")
	})
}

func TestColoursAreFewAndCanBeTakenOff(t *testing.T) {
	for _, colours := range []bool{true, false} {
		var out strings.Builder
		terminal := NewTerminal(&out, Screen{Size: func() (int, int) { return 80, 24 }, Colours: colours})
		log := NewLog(terminal).For("p")
		log.Infof("plain")
		log.Warnf("odd")
		log.Troublef("bad")
		log.End(Outcome{Code: Unhealthy, Words: "unhealthy", Took: time.Second})
		log.Row("m", Outcome{Words: "healthy", Took: time.Second}, "m  healthy  1.0 s")
		terminal.Close()
		assert.Equal(t, strings.Contains(out.String(), "m\x1b[") || strings.Contains(out.String(), "\x1b[3"), colours)
		want := []string{"[p] plain\r\n", "warning: odd", "error: bad", "unhealthy after 1.0 s", "m  healthy  1.0 s"}
		if colours {
			want = []string{
				"[p] plain\r\n", "\x1b[33mwarning:\x1b[0m odd", "\x1b[31merror:\x1b[0m bad",
				"\x1b[31munhealthy\x1b[0m after 1.0 s", "m  \x1b[32mhealthy\x1b[0m  1.0 s",
			}
		}
		for _, text := range want {
			assert.Assert(t, cmp.Contains(out.String(), text))
		}
	}
}

func TestAnAbandonedTerminalIsClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := emulate(t, 80, 24)
		terminal := NewTerminal(e, Screen{Size: e.Size})
		log := NewLog(terminal).For("p")
		log.Start()
		time.Sleep(time.Second)
		synctest.Wait()
		log.Infof("not drawn yet")
		terminal.Abandon()
		assert.Equal(t, e.screen(), "[p] not drawn yet")
		terminal.Abandon()
		terminal.Close()
		assert.Equal(t, e.screen(), "[p] not drawn yet")
	})
}

func TestNamesAreCutWhereTheyAreAlike(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		want    string
	}{
		{"operator-ssh-web", 16, "operator-ssh-web"},
		{"operator-ssh-web", 8, "…ssh-web"},
		{"operator-ssh-日本", 8, "…sh-日本"},
		{"日本日本", 7, "…本日本"},
		{"日本日本", 6, "…日本"},
		{"日本日本", 5, "…日本"},
	} {
		got := cutFront(c.name, c.columns)
		assert.Assert(t, displaywidth.String(got) <= c.columns, "%q", got)
		assert.Equal(t, strings.TrimPrefix(got, "…"), strings.TrimPrefix(c.want, "…"), c.name)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 999 * time.Millisecond: "0s", 59 * time.Second: "59s", 62 * time.Second: "1m02s",
		2*time.Hour + 5*time.Minute: "2h05m",
	} {
		assert.Equal(t, span(d), want)
	}
}
