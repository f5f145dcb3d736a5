// Package protocol tests HTTP state backends: what OpenTofu's http backend expects
// of a server, and what keeps a state from getting lost, as one suite that runs
// over any implementation.
//
// What it sends is what OpenTofu 1.12 sends: the methods, the query, the headers
// and the JSON of a lock.
package protocol

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// none are the answers to GET that OpenTofu takes for "no state".
var none = []int{http.StatusNotFound, http.StatusNoContent}

// stored are the answers to POST that OpenTofu takes for "stored".
var stored = []int{http.StatusOK, http.StatusCreated, http.StatusNoContent}

// locked are the answers to LOCK that OpenTofu takes for "somebody else has it".
var locked = []int{http.StatusLocked, http.StatusConflict}

// Run runs the suite. Each test asks for a backend of a state that does not exist
// yet.
func Run(t *testing.T, fresh func(t *testing.T) Backend) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, b Backend)
	}{
		{"an unknown state is none", unknown},
		{"a state is given back byte for byte", givenBack},
		{"an encrypted state is a state", encrypted},
		{"a later serial replaces an earlier one", replaces},
		{"a serial is one state only", oneSerial},
		{"garbage is refused and changes nothing", garbage},
		{"a lock has one holder, and the others are told who", oneHolder},
		{"a lock makes no state", lockMakesNoState},
		{"of many who lock at once one wins", manyLock},
		{"only the holder writes", holderWrites},
		{"only the holder deletes", holderDeletes},
		{"only the holder unlocks", holderUnlocks},
		{"an ID is enough to unlock", idUnlocks},
		{"a deleted state is none, and the next one begins anew", deleted},
		{"credentials are asked for", credentials},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

const lineage = "b1f7c9a0-5a0f-4b6e-9a39-1f2e3d4c5b6a"

// State makes a state of some resources.
func State(lineage string, serial, resources int) string {
	var list []string
	for i := range resources {
		list = append(list, fmt.Sprintf(`
    {
      "mode": "managed", "type": "terraform_data", "name": "r%d",
      "provider": "provider[\"terraform.io/builtin/terraform\"]",
      "instances": [{"schema_version": 0, "attributes": {"id": "%d"}}]
    }`, i, i))
	}
	return fmt.Sprintf(`{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": %d,
  "lineage": %q,
  "outputs": {},
  "resources": [%s],
  "check_results": null
}
`, serial, lineage, strings.Join(list, ","))
}

func unknown(t *testing.T, b Backend) {
	assert.Assert(t, oneOf(b.Get(t.Context()), none))
	assert.Assert(t, oneOf(b.Get(t.Context()), none), "asking makes nothing")
}

func givenBack(t *testing.T, b Backend) {
	first := State(lineage, 1, 3)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	holds(t, b, first)
}

func encrypted(t *testing.T, b Backend) {
	first := `{"serial":1,"lineage":"` + lineage + `","meta":{"key_provider.pbkdf2.k":"e30="},"encrypted_data":"c2VjcmV0","encryption_version":"v0"}`
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	holds(t, b, first)
}

func replaces(t *testing.T, b Backend) {
	for serial := 1; serial < 5; serial++ {
		next := State(lineage, serial, serial)
		assert.Assert(t, oneOf(b.Post(t.Context(), next, ""), stored))
		holds(t, b, next)
	}
}

func oneSerial(t *testing.T, b Backend) {
	first := State(lineage, 1, 3)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	refused(t, b.Post(t.Context(), State(lineage, 1, 4), ""))
	holds(t, b, first)
}

func garbage(t *testing.T, b Backend) {
	first := State(lineage, 1, 3)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	for _, bad := range []string{"", "null", "{}", `"text"`, "<html><body>Sign in</body></html>", first[:len(first)/2], `{"version":4}`} {
		got := b.Post(t.Context(), bad, "")
		assert.Check(t, got.Status >= 400, "%q: %s", bad, got)
		holds(t, b, first)
	}
}

func oneHolder(t *testing.T, b Backend) {
	mine, other := NewLock("plan"), NewLock("apply")
	acquired(t, b, mine)
	got := b.Lock(t.Context(), other)
	assert.Assert(t, oneOf(got, locked))
	assert.Equal(t, got.holder(t).ID, mine.ID)
	assert.Equal(t, got.holder(t).Operation, mine.Operation)
	assert.Equal(t, got.holder(t).Who, mine.Who)
	released(t, b, mine)
	acquired(t, b, other)
}

func lockMakesNoState(t *testing.T, b Backend) {
	lock := NewLock("apply")
	acquired(t, b, lock)
	assert.Assert(t, oneOf(b.Get(t.Context()), none))
	released(t, b, lock)
	assert.Assert(t, oneOf(b.Get(t.Context()), none))
}

func manyLock(t *testing.T, b Backend) {
	const many = 8
	locks, answers := make([]Lock, many), make(chan Answer, many)
	for i := range locks {
		locks[i] = NewLock("apply")
		go func() { answers <- b.Lock(t.Context(), locks[i]) }()
	}
	var won, lost []Answer
	for range many {
		if got := <-answers; got.Err == nil && got.Status == http.StatusOK {
			won = append(won, got)
		} else {
			lost = append(lost, got)
		}
	}
	assert.Equal(t, len(won), 1, "%v %v", won, lost)
	winner := won[0].sent
	for _, got := range lost {
		assert.Check(t, oneOf(got, locked))
		assert.Check(t, cmp.Contains(winner, got.holder(t).ID))
	}
}

func holderWrites(t *testing.T, b Backend) {
	first, second := State(lineage, 1, 1), State(lineage, 2, 2)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	lock := NewLock("apply")
	acquired(t, b, lock)
	refused(t, b.Post(t.Context(), second, ""))
	holds(t, b, first)
	refused(t, b.Post(t.Context(), second, NewLock("apply").ID))
	holds(t, b, first)
	assert.Assert(t, oneOf(b.Post(t.Context(), second, lock.ID), stored))
	holds(t, b, second)
	released(t, b, lock)
}

func holderDeletes(t *testing.T, b Backend) {
	first := State(lineage, 1, 1)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	lock := NewLock("apply")
	acquired(t, b, lock)
	refused(t, b.Delete(t.Context(), ""))
	holds(t, b, first)
	refused(t, b.Delete(t.Context(), NewLock("apply").ID))
	holds(t, b, first)
	released(t, b, lock)
}

func holderUnlocks(t *testing.T, b Backend) {
	lock := NewLock("apply")
	acquired(t, b, lock)
	refused(t, b.Unlock(t.Context(), NewLock("apply")))
	assert.Assert(t, oneOf(b.Lock(t.Context(), NewLock("plan")), locked), "it is held still")
	released(t, b, lock)
}

func idUnlocks(t *testing.T, b Backend) {
	lock := NewLock("apply")
	acquired(t, b, lock)
	// As force-unlock sends it: nothing is known but the ID.
	released(t, b, Lock{ID: lock.ID, Created: "0001-01-01T00:00:00Z"})
	acquired(t, b, NewLock("plan"))
}

func deleted(t *testing.T, b Backend) {
	assert.Assert(t, oneOf(b.Post(t.Context(), State(lineage, 7, 1), ""), stored))
	assert.Equal(t, b.Delete(t.Context(), "").Status, http.StatusOK)
	assert.Assert(t, oneOf(b.Get(t.Context()), none))
	again := State("0d6a3f1e-0000-4000-8000-000000000000", 1, 2)
	assert.Assert(t, oneOf(b.Post(t.Context(), again, ""), stored))
	holds(t, b, again)
}

func credentials(t *testing.T, b Backend) {
	first := State(lineage, 1, 1)
	assert.Assert(t, oneOf(b.Post(t.Context(), first, ""), stored))
	for _, c := range []Backend{{User: b.User, Password: b.Password + "x"}, {User: b.User + "x", Password: b.Password}, {}} {
		stranger := b
		stranger.User, stranger.Password = c.User, c.Password
		for _, got := range []Answer{
			stranger.Get(t.Context()), stranger.Post(t.Context(), State(lineage, 2, 2), ""), stranger.Delete(t.Context(), ""),
			stranger.Lock(t.Context(), NewLock("apply")), stranger.Unlock(t.Context(), NewLock("apply")),
		} {
			assert.Check(t, oneOf(got, []int{http.StatusUnauthorized, http.StatusForbidden}))
			assert.Check(t, !strings.Contains(got.Body, lineage))
		}
	}
	holds(t, b, first)
}

// oneOf tells whether an answer has one of the statuses.
func oneOf(a Answer, want []int) cmp.Comparison {
	return func() cmp.Result {
		if a.Err != nil || !slices.Contains(want, a.Status) {
			return cmp.ResultFailure(fmt.Sprintf("%s, want one of %d", a, want))
		}
		return cmp.ResultSuccess
	}
}

// refused asserts that a request was understood and turned down.
func refused(t *testing.T, a Answer) {
	t.Helper()
	assert.Assert(t, a.Err == nil && a.Status >= 400 && a.Status < 500, "%s", a)
}

func holds(t *testing.T, b Backend, want string) {
	t.Helper()
	got := b.Get(t.Context())
	assert.Equal(t, got.Status, http.StatusOK, "%s", got)
	assert.Equal(t, got.Body, want)
}

func acquired(t *testing.T, b Backend, lock Lock) {
	t.Helper()
	got := b.Lock(t.Context(), lock)
	assert.Equal(t, got.Status, http.StatusOK, "%s", got)
}

func released(t *testing.T, b Backend, lock Lock) {
	t.Helper()
	got := b.Unlock(t.Context(), lock)
	assert.Equal(t, got.Status, http.StatusOK, "%s", got)
}
