package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gotest.tools/v3/assert"
)

// object is one of NetBox's, as it tells it.
type object map[string]any

func (o object) id() int { return int(o["id"].(float64)) }

// at follows names into what an object holds.
func (o object) at(names ...string) any {
	var value any = map[string]any(o)
	for _, name := range names {
		inner, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = inner[name]
	}
	return value
}

// ask asks the NetBox itself, as a person beside the effect would.
func (w *world) ask(method, path string, query url.Values, body any) (int, []byte) {
	w.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		assert.NilError(w, err)
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(w.Context()), method, w.server.URL+"/api/"+path+"?"+query.Encode(), bytes.NewReader(text))
	assert.NilError(w, err)
	request.Header.Set("Authorization", "Bearer "+w.server.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	assert.NilError(w, err)
	defer response.Body.Close() //nolint:errcheck // Read to its end.
	answer, err := io.ReadAll(response.Body)
	assert.NilError(w, err)
	return response.StatusCode, answer
}

// find lists objects: pairs are names and values of the query.
func (w *world) find(path string, pairs ...string) []object {
	w.Helper()
	query := url.Values{"limit": {"1000"}}
	for pair := range slices.Chunk(pairs, 2) {
		query.Add(pair[0], pair[1])
	}
	status, text := w.ask(http.MethodGet, path, query, nil)
	if status == http.StatusBadRequest && query.Has("tag") {
		return nil // there is no such tag
	}
	assert.Equal(w, status, http.StatusOK, "%s", text)
	var page struct{ Results []object }
	assert.NilError(w, json.Unmarshal(text, &page))
	return page.Results
}

// one finds one object.
func (w *world) one(path string, pairs ...string) object {
	w.Helper()
	found := w.find(path, pairs...)
	assert.Equal(w, len(found), 1, "%s %v", path, pairs)
	return found[0]
}

// vm finds a virtual machine of the group.
func (w *world) vm(name string) object {
	w.Helper()
	return w.one("virtualization/virtual-machines/", "name", name, "tag", w.tag())
}

// make makes an object beside the effect; it is deleted after the test.
func (w *world) make(path string, fields object) object {
	w.Helper()
	status, text := w.ask(http.MethodPost, path, nil, fields)
	assert.Equal(w, status, http.StatusCreated, "%s", text)
	var made object
	assert.NilError(w, json.Unmarshal(text, &made))
	w.made = append(w.made, beside{path, made.id()})
	return made
}

// beside is an object that was made beside the effect.
type beside struct {
	path string
	id   int
}

// forget deletes what was made beside the effect, the last first. Some of it may
// have gone already.
func (w *world) forget() {
	for _, b := range slices.Backward(w.made) {
		w.ask(http.MethodDelete, b.path+strconv.Itoa(b.id)+"/", nil, nil)
	}
}

// patch changes an object beside the effect.
func (w *world) patch(path string, id int, fields object) {
	w.Helper()
	status, text := w.ask(http.MethodPatch, path+strconv.Itoa(id)+"/", nil, fields)
	assert.Equal(w, status, http.StatusOK, "%s", text)
}

// delete deletes an object beside the effect.
func (w *world) delete(path string, id int) {
	w.Helper()
	status, text := w.ask(http.MethodDelete, path+strconv.Itoa(id)+"/", nil, nil)
	assert.Equal(w, status, http.StatusNoContent, "%s", text)
}

// kinds are the paths of all that the effect makes.
var kinds = strings.Fields(`extras/tags/ tenancy/tenants/ dcim/sites/ dcim/manufacturers/ dcim/device-types/
	dcim/device-roles/ dcim/platforms/ virtualization/cluster-types/ virtualization/clusters/ dcim/devices/
	virtualization/virtual-machines/ dcim/interfaces/ virtualization/interfaces/ ipam/ip-addresses/ ipam/services/`)

// marked counts what bears the group's tag.
func (w *world) marked() int {
	w.Helper()
	count := 0
	for _, path := range kinds[1:] {
		count += len(w.find(path, "tag", w.tag()))
	}
	return count
}

// whole is the text of an object, to compare with later, without what NetBox
// counts in it.
func (w *world) whole(path string, id int) string {
	w.Helper()
	status, text := w.ask(http.MethodGet, path+strconv.Itoa(id)+"/", nil, nil)
	assert.Equal(w, status, http.StatusOK, "%s %d: %s", path, id, text)
	var o object
	assert.NilError(w, json.Unmarshal(text, &o))
	for name := range o {
		if strings.HasSuffix(name, "_count") || strings.HasPrefix(name, "allocated") {
			delete(o, name)
		}
	}
	text, err := json.Marshal(o)
	assert.NilError(w, err)
	return string(text)
}
