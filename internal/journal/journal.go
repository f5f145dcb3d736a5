// Package journal reads what journalctl --output=json prints.
package journal

import (
	"encoding/json"
	"strings"
)

// Entry is one line of the journal.
type Entry struct {
	Cursor  string
	Message string // bytes as they were written, UTF-8 or not
}

// Parse reads entries, one JSON object a line. A line that is no whole entry,
// such as one that was cut off, is left out.
func Parse(text string) []Entry {
	var entries []Entry
	for line := range strings.Lines(text) {
		var raw struct {
			Cursor  string          `json:"__CURSOR"`
			Message json.RawMessage `json:"MESSAGE"`
		}
		if json.Unmarshal([]byte(line), &raw) == nil {
			entries = append(entries, Entry{Cursor: raw.Cursor, Message: message(raw.Message)})
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
