package dns

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/internal/plaintext"
	"fediversity.eu/slipway/targets/report"
)

// reason is something that OctoDNS, or a provider of it, says when it can't do
// what it should.
type reason struct {
	says string // part of the last line of its traceback
	code report.Code
	what string
	hint string
}

// reasons are looked through in order. What says that nobody could be reached
// tells nothing of the zones: it is unknown, not refused.
var reasons = []reason{
	{"didn't like the signature", report.Refused, "the server knows the TSIG key, but with another secret or algorithm", "DNS_TSIG_SECRET and DNS_TSIG_ALGORITHM are what the server has for DNS_TSIG_NAME"},
	{"didn't know the key", report.Refused, "the server does not know the TSIG key", "DNS_TSIG_NAME is the name that the server has for the key"},
	{"didn't like the time", report.Refused, "the clocks of the server and of this host differ too much", "set the clocks"},
	{"BADKEY", report.Refused, "the server does not take the TSIG key", "DNS_TSIG_NAME and DNS_TSIG_ALGORITHM are what the server has"},
	{"NOTAUTH", report.Refused, "the server does not have the zone", "make the zone on the server first; it can't be made by dynamic updates"},
	{"REFUSED", report.Refused, "the server does not let this key do that", "the server must allow transfers and updates of the zone to the key DNS_TSIG_NAME"},
	{"unauthorized", report.Refused, "the provider does not take the credentials", "give those that the provider has"},
	{"Unauthorized", report.Refused, "the provider does not take the credentials", "give those that the provider has"},
	{"401 Client Error", report.Refused, "the provider does not take the credentials", "give those that the provider has"},
	{"403 Client Error", report.Refused, "the provider does not let these credentials do that", "give them the right to write the zones"},
	{"Forbidden", report.Refused, "the provider does not let these credentials do that", "give them the right to write the zones"},
	{"does not match computed", report.Busy, "the zones were changed by somebody else in the meantime", "run it again: it plans anew"},
	{"SupportsException", report.Refused, "the provider does not have records of such a kind", "leave them out of the zones, or use another provider"},
	{"ValidationError", report.Refused, "OctoDNS finds fault with the zones", "mend the record that is named"},
	{"ConnectionRefused", report.Unknown, "nobody answers at the server's address", "start the server, or mend DNS_SERVER, DNS_PORT or DNS_API"},
	{"Connection refused", report.Unknown, "nobody answers at the server's address", "start the server, or mend DNS_SERVER, DNS_PORT or DNS_API"},
	{"imeout", report.Unknown, "the server did not answer in time", "run it again when the server can be reached"},
	{"timed out", report.Unknown, "the server did not answer in time", "run it again when the server can be reached"},
	{"Name or service not known", report.Unknown, "the server's name has no address", "mend DNS_SERVER or DNS_API"},
	{"No address associated with hostname", report.Unknown, "the server's name has no address", "mend DNS_SERVER or DNS_API"},
	{"failure in name resolution", report.Unknown, "the server's name can't be looked up", "run it again when names can be resolved"},
	{"ConnectionError", report.Unknown, "the server can't be reached", "run it again when the server can be reached"},
	{"Connection reset", report.Unknown, "the server ended the connection", "run it again when the server can be reached"},
	{"EOFError", report.Unknown, "the server ended the connection", "run it again when the server can be reached"},
	{"connection abort", report.Unknown, "the server ended the connection", "run it again when the server can be reached"},
	{"Broken pipe", report.Unknown, "the server ended the connection", "run it again when the server can be reached"},
	{"Network is unreachable", report.Unknown, "the server can't be reached", "run it again when the server can be reached"},
	{"Network is down", report.Unknown, "the server can't be reached", "run it again when the server can be reached"},
	{"No route to host", report.Unknown, "the server can't be reached", "run it again when the server can be reached"},
	{"Host is down", report.Unknown, "the server can't be reached", "run it again when the server can be reached"},
	{"No space left on device", report.Refused, "there is no room for what OctoDNS writes", "make room where TMPDIR is"},
	{"Disk quota exceeded", report.Refused, "there is no room for what OctoDNS writes", "make room where TMPDIR is"},
	{"ModuleNotFoundError", report.Usage, "OctoDNS lacks the provider's package", "DNS_PACKAGE names it; with DNS_OCTODNS, install it there"},
	{"Unknown provider class", report.Usage, "OctoDNS does not know the provider's class", "mend DNS_CLASS or DNS_PACKAGE"},
	{"Incorrect provider config", report.Usage, "the provider's class does not take these arguments", "mend DNS_ARGUMENTS"},
}

// last is the last line of a traceback: the kind of the exception and its text.
var last = regexp.MustCompile(`(?m)^(?:[A-Za-z_][A-Za-z0-9_.]*: .*|[A-Za-z_][A-Za-z0-9_.]*(?:Error|Exception))$`)

// logged is how a line of OctoDNS's log begins.
var logged = regexp.MustCompile(`^\S+ +\[\d+\] +[A-Z]+ `)

// mostOfText is how many lines of an exception's text are shown.
const mostOfText = 20

// exception gives the last exception in what was said: its first line, and with it
// the lines of its text that follow, as those of a record's faults.
func exception(said string) (first, whole string) {
	matches := last.FindAllStringIndex(said, -1)
	if len(matches) == 0 {
		return "", ""
	}
	at := matches[len(matches)-1]
	first = said[at[0]:at[1]]
	lines := []string{first}
	for line := range strings.Lines(strings.TrimPrefix(said[at[1]:], "\n")) {
		line = strings.TrimRight(line, " \r\n")
		if line == "" || logged.MatchString(line) {
			break
		}
		if len(lines) == mostOfText {
			lines = append(lines, "… (more lines cut)")
			break
		}
		lines = append(lines, line)
	}
	return first, strings.Join(lines, "\n")
}

// octodnsError says why a command of OctoDNS failed. It always exits 1, and only
// the last line of its traceback tells one reason from another.
func octodnsError(said string, err error) error {
	failure, ok := errors.AsType[*child.Error](err)
	switch {
	case !ok || failure.NotFound():
		return report.Refuse("run OctoDNS", err, "mage setup installs what it needs")
	case failure.Killed():
		return report.Fail("run OctoDNS", err, outOfMemory)
	}
	first, whole := exception(plaintext.Lines(said))
	if first == "" {
		return report.Fail("run OctoDNS", err, "")
	}
	if first == "MemoryError" {
		return report.Fail("run OctoDNS", errors.New(whole), outOfMemory)
	}
	for _, r := range reasons {
		if strings.Contains(first, r.says) {
			return &report.Fault{Code: r.code, What: "talk to the server of the zones", Why: fmt.Errorf("%s: %s", r.what, whole), Hint: r.hint}
		}
	}
	return report.Fail("run OctoDNS", errors.New(whole), "")
}

// outOfMemory is the hint where a program was killed by somebody else, or says so.
const outOfMemory = "memory may have run out on this host, which its kernel log says (dmesg)"

// warning is a line of OctoDNS's log that warns.
var warning = regexp.MustCompile(`(?m)^\S+ +\[\d+\] +WARNING +(.*)$`)

// warnings gives the warnings in what OctoDNS said.
func warnings(said string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, match := range warning.FindAllStringSubmatch(said, -1) {
			if !yield(strings.TrimSpace(match[1])) {
				return
			}
		}
	}
}
