package nixos

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/targets/report"
)

// evaluationError shortens what Nix says to what matters: its error, the place
// that it points to, and of the way there the options, arguments and files of the
// user, with paths relative to the tree they lie in.
func evaluationError(err error, trees map[string]string) error {
	var failure *child.Error
	if !errors.As(err, &failure) || failure.Stopped != nil {
		return err
	}
	var own []string
	for tree, name := range trees {
		if name == "" {
			own = append(own, tree)
		}
	}
	said := failure.Said
	text := lastError(said)
	if way := wayThere(said, own); len(way) > 0 {
		text += "\n\n" + strings.Join(way, "\n")
	}
	for tree, name := range trees {
		text = strings.ReplaceAll(text, tree+"/", name)
	}
	return errors.New(text)
}

// killedError is the error of a command of Nix, or of another program, that somebody
// killed: no refusal, since the same may well end otherwise.
func killedError(what string, err error) error {
	return report.Fail(what, err, "SIGKILL ended it: memory may have run out, which this host's kernel log says (dmesg); give it more memory or swap")
}

// mostOfError is how many lines of an error are shown, and mostOfWay how many of the
// way to it.
const (
	mostOfError = 60
	mostOfWay   = 8
)

// lastError cuts the stack of an error of Nix. Old and new versions alike end with
// "error: MESSAGE" and the place; new ones put the way there before it (Nix,
// src/libutil/error.cc, showErrorInfo).
func lastError(stderr string) string {
	lines := strings.Split(strings.TrimSpace(plaintext.Lines(stderr)), "\n")
	var kept []string
	for _, line := range lines[messageStart(lines):] {
		line = strings.TrimRight(line, " ")
		if strings.Contains(line, "--show-trace") || (line == "" && len(kept) == 0) {
			continue
		}
		kept = append(kept, strings.TrimPrefix(line, "       "))
	}
	if extra := len(kept) - mostOfError; extra > 0 {
		kept = append(kept[:mostOfError], fmt.Sprintf("… (%d lines cut)", extra))
	}
	text := strings.TrimSpace(strings.Join(kept, "\n"))
	if text == "" {
		return fmt.Sprintf("nix said nothing of use: %q", stderr)
	}
	return text
}

// messageStart finds where the message begins: at the first error behind the last
// line of the way there. A message may have lines of its own that begin so.
func messageStart(lines []string) int {
	behind := 0
	for i, line := range lines {
		if frame.MatchString(line) {
			behind = i
		}
	}
	start := -1
	for i := behind; i < len(lines); i++ {
		text, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "error:")
		if ok && text != "" {
			return i
		}
		if ok && start < 0 {
			start = i
		}
	}
	return max(start, behind)
}

// frame is a line of the way to an error.
var frame = regexp.MustCompile(`^ *(?:… |\(stack trace truncated)`)

// wayThere gives the frames that name options, arguments of modules, or files in own
// trees, the nearest to the error last.
func wayThere(stderr string, own []string) []string {
	var way []string
	lines := strings.Split(plaintext.Lines(stderr), "\n")
	ours := func(text string) bool {
		for _, tree := range own {
			if strings.Contains(text, tree+"/") {
				return true
			}
		}
		return false
	}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if !strings.HasPrefix(text, "… ") {
			continue
		}
		if i+1 < len(lines) {
			if place := strings.TrimSpace(lines[i+1]); strings.HasPrefix(place, "at ") && ours(place) {
				text += " " + strings.TrimSuffix(place, ":")
			}
		}
		if !ours(text) && !named.MatchString(text) {
			continue
		}
		if len(way) == 0 || way[len(way)-1] != text {
			way = append(way, text)
		}
	}
	if extra := len(way) - mostOfWay; extra > 0 {
		way = append([]string{fmt.Sprintf("… (%d steps cut)", extra)}, way[extra:]...)
	}
	return way
}

// named are frames that a person knows by their names, whatever tree they are of.
var named = regexp.MustCompile("^… while evaluating (?:the module argument|the option|definitions from|a definition) ?['`]?")
