package netbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"fediversity.eu/slipway/internal/wait"
)

// answerError is an answer of NetBox's that is no success.
type answerError struct {
	method, path string
	status       int
	after        time.Duration // that NetBox asks to wait before the next try
	location     string        // of a redirect
	body         []byte
}

func newAnswerError(method, path string, response *http.Response, body []byte) *answerError {
	return &answerError{
		method: method, path: path, status: response.StatusCode, body: body,
		after: wait.After(response.Header, time.Now()), location: response.Header.Get("Location"),
	}
}

// passing tells whether the next try may end otherwise.
func (e *answerError) passing() bool {
	return e.status == http.StatusTooManyRequests || e.status >= 500
}

// untaken tells whether nothing can have been done: there were too many requests (RFC
// 6585, 4).
func (e *answerError) untaken() bool { return e.status == http.StatusTooManyRequests }

// Error says what was asked, and all that NetBox said.
func (e *answerError) Error() string {
	text := fmt.Sprintf("%s %s: %d %s", e.method, e.path, e.status, http.StatusText(e.status))
	if e.location != "" {
		return text + " to " + e.location
	}
	var said []string
	for _, f := range e.faults() {
		said = append(said, f.String())
	}
	if len(said) == 0 {
		return text
	}
	return text + ": " + strings.Join(said, "; ")
}

// fieldFault is what NetBox has against one field of one object.
type fieldFault struct {
	index int    // of the object in the list that was sent; -1 when it is not told
	id    int    // of the object; 0 when it is not told
	field string // empty when it is about the whole object
	text  string
}

func (f fieldFault) String() string {
	if f.field == "" {
		return f.text
	}
	return f.field + ": " + f.text
}

// general are the names under which NetBox puts what is about no single field.
var general = []string{"__all__", "non_field_errors", "detail", "error"}

// faults reads the body, which has one of four forms: fields of the one object
// that was sent; a list of such, in the order of what was sent (bulk, to 4.6); a
// list of such with an index or an id each (bulk, 4.7); or a single text.
func (e *answerError) faults() []fieldFault {
	var bulk struct {
		Errors []struct {
			Index  *int            `json:"index"`
			ID     int             `json:"id"`
			Errors json.RawMessage `json:"errors"`
		} `json:"errors"`
	}
	if json.Unmarshal(e.body, &bulk) == nil && len(bulk.Errors) > 0 {
		var list []fieldFault
		for _, one := range bulk.Errors {
			index := -1
			if one.Index != nil {
				index = *one.Index
			}
			list = append(list, fieldsOf(one.Errors, index, one.ID)...)
		}
		return list
	}
	var several []json.RawMessage
	if json.Unmarshal(e.body, &several) == nil {
		var list []fieldFault
		for index, one := range several {
			list = append(list, fieldsOf(one, index, 0)...)
		}
		return list
	}
	if list := fieldsOf(e.body, -1, 0); len(list) > 0 {
		return list
	}
	if line := strings.TrimSpace(string(e.body)); line != "" && !strings.HasPrefix(line, "<") {
		return []fieldFault{{index: -1, text: shortened(line)}}
	}
	return nil
}

// fieldsOf reads the faults of one object.
func fieldsOf(text json.RawMessage, index, id int) []fieldFault {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil {
		var line string
		if json.Unmarshal(text, &line) == nil && line != "" {
			return []fieldFault{{index: index, id: id, text: line}}
		}
		return nil
	}
	var list []fieldFault
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := name
		if slices.Contains(general, name) {
			field = ""
		}
		for _, line := range lines(fields[name]) {
			list = append(list, fieldFault{index: index, id: id, field: field, text: line})
		}
	}
	return list
}

// lines reads what is said of a field: a text, a list of texts, or, for a field
// that is an object, something of its own.
func lines(text json.RawMessage) []string {
	var one string
	if json.Unmarshal(text, &one) == nil {
		return []string{one}
	}
	var several []string
	if json.Unmarshal(text, &several) == nil {
		return several
	}
	return []string{shortened(string(text))}
}

// shortened bounds what a message repeats.
func shortened(text string) string {
	const most = 300
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
