package checks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/child"
)

// event is one line of "go test -json" (go doc test2json).
type event struct {
	Action  string
	Package string
	Test    string
	Elapsed float64
	Output  string
}

// testGrace lets tests take their machines down when the run is interrupted.
const testGrace = 60 * time.Second

// test runs go test and counts its tests. What a test prints is shown when it
// fails; what a package did, always.
func (r *Run) test(ctx context.Context, t *tally, what string, args ...string) error {
	before := len(t.failed)
	reader, writer := io.Pipe()
	parsed := make(chan error, 1)
	p := &results{run: r, tally: t, what: what, output: map[string]*bytes.Buffer{}, why: map[string]string{}}
	go func() {
		err := p.read(reader)
		_, _ = io.Copy(io.Discard, reader)
		parsed <- err
	}()
	lines := r.Log.In(what).Lines()
	tests := r.tools.Go(r.Environment, r.module, r.own(), append([]string{"test", "-json"}, args...)...)
	tests.Stdout, tests.Stderr, tests.Grace = writer, lines, testGrace
	err := tests.Run(ctx)
	_ = writer.Close()
	_ = lines.Close()
	if failed := <-parsed; failed != nil {
		return fmt.Errorf("read the results of %s: %w", what, failed)
	}
	var ended *child.Error
	if errors.As(err, &ended) && ended.ExitCode == 1 && len(t.failed) > before && ctx.Err() == nil {
		return nil // it is counted
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// own is what the checks hand on to the tests that they run.
func (r *Run) own() map[string]string {
	own := map[string]string{}
	if r.keys.Guest != "" {
		own["CHECKS_GUEST"] = r.keys.Guest
	}
	if r.keys.Nixpkgs != "" {
		own["CHECKS_NIXPKGS"] = string(r.keys.Nixpkgs)
	}
	own["CHECKS_NETBOX"] = r.keys.NetBox
	if cache, err := r.Environment.CacheDir(); err == nil {
		own["CACHE_DIR"] = cache
	}
	return own
}

// machines is what the tests on machines are called in the output.
const machines = "machines"

// results reads the events of a test run.
type results struct {
	run    *Run
	tally  *tally
	what   string
	output map[string]*bytes.Buffer // of tests that have not ended
	why    map[string]string        // what the first failing part of a test said
}

// longestEvent bounds a line of output of a test.
const longestEvent = 4 << 20

func (p *results) read(from io.Reader) error {
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, longestEvent)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			p.run.Log.In(p.what).Infof("%s", scanner.Text()) // not a test's: the go command's own words
			continue
		}
		p.take(e)
	}
	return scanner.Err()
}

func (p *results) take(e event) {
	key := e.Package + " " + e.Test
	name := strings.TrimPrefix(e.Package, "fediversity.eu/slipway/")
	if e.Test != "" {
		name += "." + e.Test
	}
	switch e.Action {
	case "output", "build-output":
		if p.output[key] == nil {
			p.output[key] = &bytes.Buffer{}
		}
		p.output[key].WriteString(e.Output)
		return
	case "pass":
		if e.Test == "" {
			p.run.Log.In(p.what).Infof("ok %s (%.1f s)", name, e.Elapsed)
		} else if !strings.Contains(e.Test, "/") {
			p.tally.passed++
			if p.what != "tests" {
				p.run.Log.In(p.what).Infof("passed %s (%.1f s)", name, e.Elapsed)
			}
		}
	case "fail", "build-fail":
		p.show(key)
		test, _, part := strings.Cut(e.Test, "/")
		top := e.Package + " " + test
		if p.why[top] == "" {
			p.why[top] = excerpt(p.output[key])
		}
		if e.Test == "" {
			p.unfinished(e.Package)
			p.run.Log.In(p.what).Troublef("FAIL %s (%.1f s)", name, e.Elapsed)
			// A package fails with its tests, or by itself: not built, or ended.
			if !p.failedIn(name) {
				p.tally.failed = append(p.tally.failed, failure{name: name, why: p.why[top]})
			}
		} else if !part {
			p.tally.failed = append(p.tally.failed, failure{pkg: e.Package, test: e.Test, machines: p.what == machines, name: name, why: p.why[top]})
		}
	case "skip":
		if e.Test != "" {
			p.tally.skip(name, reason(p.output[key]), p.run.keys.MaySkip)
		}
	default:
		return
	}
	delete(p.output, key)
}

// unfinished shows and counts the tests of a package that never ended: the
// package timed out or ended in the middle of them.
func (p *results) unfinished(pkg string) {
	for _, key := range slices.Sorted(maps.Keys(p.output)) {
		test, ok := strings.CutPrefix(key, pkg+" ")
		if !ok || test == "" {
			continue
		}
		p.show(key)
		delete(p.output, key)
		if !strings.Contains(test, "/") {
			p.tally.failed = append(p.tally.failed, failure{name: strings.TrimPrefix(pkg, "fediversity.eu/slipway/") + "." + test, why: "did not end"})
		}
	}
}

func (p *results) failedIn(pkg string) bool {
	for _, f := range p.tally.failed {
		if strings.HasPrefix(f.name, pkg+".") || f.name == pkg {
			return true
		}
	}
	return false
}

func (p *results) show(key string) {
	if p.output[key] != nil {
		p.run.Log.In(p.what).Troublef("%s", p.output[key].String())
	}
}

// excerptLines is how much of what a failed test said is shown once more at the end.
const excerptLines = 20

// excerpt is what a test said from its last failed assertion on, or else last.
func excerpt(output *bytes.Buffer) string {
	if output == nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(output.String(), "\n"), "\n")
	from := max(0, len(lines)-excerptLines)
	for i, line := range lines {
		if strings.Contains(line, "assertion failed: ") {
			from = i
		}
	}
	return strings.Join(lines[from:min(from+excerptLines, len(lines))], "\n")
}

// reason is what a test said when it skipped itself: its last line that is not
// the testing package's own.
func reason(output *bytes.Buffer) string {
	if output == nil {
		return "no reason given"
	}
	why := "no reason given"
	for line := range strings.Lines(output.String()) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		if _, text, ok := strings.Cut(line, ": "); ok {
			line = text
		}
		why = line
	}
	return why
}
