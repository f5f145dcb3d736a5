// Package journal reads what journalctl --output=json prints.
package journal

import (
	"cmp"
	"encoding/json"
	"strings"
)

// Entry is one line of the journal.
type Entry struct {
	Cursor     string
	Message    string // bytes as they were written, UTF-8 or not
	Invocation string // of the unit that it is from or about; journald does not always know
}

// Parse reads entries, one JSON object a line. A line that is no whole entry,
// such as one that was cut off, is left out.
func Parse(text string) []Entry {
	var entries []Entry
	for line := range strings.Lines(text) {
		var raw struct {
			Cursor  string          `json:"__CURSOR"`
			Message json.RawMessage `json:"MESSAGE"`
			From    string          `json:"_SYSTEMD_INVOCATION_ID"`
			About   string          `json:"INVOCATION_ID"`
		}
		if json.Unmarshal([]byte(line), &raw) == nil {
			entries = append(entries, Entry{raw.Cursor, message(raw.Message), cmp.Or(raw.About, raw.From)})
		}
	}
	return entries
}

// message reads a field, which is a string, or an array of bytes where it is
// not UTF-8 (systemd, "Journal JSON Format").
func message(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var numbers []int
	if json.Unmarshal(raw, &numbers) != nil {
		return ""
	}
	octets := make([]byte, 0, len(numbers))
	for _, n := range numbers {
		octets = append(octets, byte(n))
	}
	return string(octets)
}
