package netbox

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

func TestFaultsOfAnAnswer(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []fieldFault
	}{
		{
			"of one object", `{"slug":["Enter a slug.","It is taken."],"tags":["No such tag."],"__all__":["Not like this."]}`,
			[]fieldFault{{-1, 0, "", "Not like this."}, {-1, 0, "slug", "Enter a slug."}, {-1, 0, "slug", "It is taken."}, {-1, 0, "tags", "No such tag."}},
		},
		{"of several objects, until 4.6", `[{},{"name":["Too long."]}]`, []fieldFault{{1, 0, "name", "Too long."}}},
		{
			"of several new objects, from 4.7", `{"detail":"1 of 2","errors":[{"index":1,"errors":{"name":["Too long."]}}]}`,
			[]fieldFault{{1, 0, "name", "Too long."}},
		},
		{
			"of several objects that are there, from 4.7", `{"detail":"1 of 2","errors":[{"id":7,"errors":{"__all__":["In use."]}}]}`,
			[]fieldFault{{-1, 7, "", "In use."}},
		},
		{"a single text", `{"detail":"Invalid v2 token"}`, []fieldFault{{-1, 0, "", "Invalid v2 token"}}},
		{"a field that is an object", `{"primary_ip4":{"address":["Bad."]}}`, []fieldFault{{-1, 0, "primary_ip4", `{"address":["Bad."]}`}}},
		{"plain text", "upstream is away\n", []fieldFault{{-1, 0, "", "upstream is away"}}},
		{"a page", "<!DOCTYPE html><html>", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (&answerError{body: []byte(c.body)}).faults()
			assert.Equal(t, len(got), len(c.want), "%v", got)
			for i := range got {
				assert.Equal(t, got[i], c.want[i])
			}
		})
	}
}

func TestRejectedObjectsAreNamed(t *testing.T) {
	answer := &answerError{status: http.StatusBadRequest, body: []byte(`{"detail":"2 of 3","errors":[{"index":0,"errors":{"name":["A."]}},{"id":12,"errors":{"slug":["B."]}}]}`)}
	err := rejected("create", roles, []string{"one", "two", "three"}, []int{11, 12, 13}, answer)
	assert.Error(t, err, "create role one: name: A.\ncreate role two: slug: B.")
	assert.Equal(t, report.CodeOf(classify(t.Context(), "do it", err, true)), report.Failed)
	broken := &answerError{status: http.StatusBadGateway}
	assert.Equal(t, rejected("create", roles, []string{"one"}, nil, broken), error(broken), "nobody knows what became of it")
}

// FuzzAnswers reads what a server says that it refuses: whatever it is, an error with
// a text comes of it.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"name":["A."]}`, `[{"name":["A."]},{}]`, `{"detail":"2 of 3","errors":[{"index":0,"errors":{"name":["A."]}},{"id":12,"errors":{"slug":["B."]}}]}`,
		`{"errors":[{"index":99,"errors":{"a":"b"}},{"index":-7,"errors":"c"}]}`, `"text"`, `<html>`, `null`, `[null]`, `{"a":{"b":[1]}}`, "\xff", `{"":null}`,
	} {
		f.Add(http.StatusBadRequest, []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		answer := &answerError{method: "POST", path: "/api/", status: status, body: body}
		assert.Assert(t, answer.Error() != "")
		for _, names := range [][]string{nil, {"one"}, {"one", "two", "three"}} {
			err := rejected("create", roles, names, []int{11, 12, 13}[:len(names)], answer)
			assert.Assert(t, err != nil && err.Error() != "")
		}
	})
}

func TestExitCodes(t *testing.T) {
	get, post := http.MethodGet, http.MethodPost
	for _, c := range []struct {
		name    string
		err     error
		changed bool
		want    report.Code
		hint    string
	}{
		{"a token that is refused", &answerError{method: get, status: 403}, false, report.Refused, "NETBOX_TOKEN"},
		{"a token that may only read", &answerError{method: post, status: 403}, false, report.Refused, "may write"},
		{"a token that may not write everything", &answerError{method: post, status: 403}, true, report.Failed, "NETBOX_TOKEN"},
		{"a token that expires in the middle", &answerError{method: get, status: 403}, true, report.Unknown, "NETBOX_TOKEN"},
		{"an object that is no good", &answerError{method: post, status: 400}, true, report.Failed, ""},
		{"an object that is in use", &answerError{method: http.MethodDelete, status: 409}, false, report.Failed, ""},
		{"a look that is no good", &answerError{method: get, status: 400}, false, report.Unknown, "NETBOX_URL"},
		{"a redirect", &answerError{method: get, status: 301, location: "https://x"}, false, report.Unknown, "https"},
		{"out of order", &answerError{method: post, status: 500}, false, report.Unknown, "run it again"},
		{"no contact", contactError(get, "x/", errors.New("refused")), false, report.Unknown, "NETBOX_URL"},
		{"too late", &timeoutError{5 * time.Minute}, false, report.Unknown, "NETBOX_TIMEOUT"},
		{"interrupted", context.Canceled, true, report.Interrupted, ""},
		{"a fault of its own", report.Refuse("x", nil, "y"), true, report.Refused, "y"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := classify(t.Context(), "do it", c.err, c.changed)
			assert.Equal(t, report.CodeOf(err), c.want)
			assert.Assert(t, strings.Contains(strings.Join(report.Hints(err), "\n"), c.hint), "%q", report.Hints(err))
		})
	}
	assert.NilError(t, classify(t.Context(), "do it", nil, true))
}
