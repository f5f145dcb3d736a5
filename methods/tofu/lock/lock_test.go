package lock

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/fakestate"
	"fediversity.eu/slipway/methods/tofu/backend"
	"fediversity.eu/slipway/targets/report"
)

// TestALockIsTakenBackFromItsHolderAlone is of a run that was about to end when the
// backend named it as the holder: its lock is given back since, and may be another's.
func TestALockIsTakenBackFromItsHolderAlone(t *testing.T) {
	here, err := Here()
	assert.NilError(t, err)
	me, err := New("web", "apply", here)
	assert.NilError(t, err)
	gone, other := me, me
	gone.PID, gone.Nonce = 1<<22+1, "gone"
	other.Nonce = "other"
	const nobody = ""
	for _, c := range []struct {
		name string
		told int // so many times the backend says that it is of the run that is gone
		has  string
		ways []string
		ends report.Code
	}{
		{"it is the holder's still", 0, gone.String(), fakestate.Ways(), report.Healthy},
		{"nobody's since the first answer", 1, nobody, fakestate.Ways(), report.Healthy},
		{"another's since the first answer", 1, other.String(), fakestate.Ways(), report.Busy},
		{"nobody's since the second", 2, nobody, fakestate.Ways(), report.Healthy},
		{"another's since the second", 2, other.String(), []string{fakestate.Strict, fakestate.GitLab}, report.Busy},
	} {
		for _, way := range c.ways {
			t.Run(c.name+", "+way, func(t *testing.T) {
				b := fakestate.New(way)
				defer b.Close()
				holder := info(gone, "1.12.6")
				text, err := json.Marshal(holder)
				assert.NilError(t, err)
				b.Set(nil, &holder)
				b.Break(func(_ *http.Request, n int) (*fakestate.Answer, bool) {
					if n > c.told {
						return nil, false
					}
					return &fakestate.Answer{Status: http.StatusLocked, Body: string(text), Then: func() {
						switch {
						case n < c.told:
						case c.has == nobody:
							b.Set(nil, nil)
						default:
							b.Set(nil, &backend.LockInfo{ID: c.has})
						}
					}}, false
				})
				client, err := backend.New(b.Keys(), backend.Pace{Try: time.Hour}, nil)
				assert.NilError(t, err)
				defer client.Close()
				_, err = Take(t.Context(), client, Asked{ID: me, Version: "1.12.6"}, &report.Log{})
				assert.Equal(t, report.CodeOf(err), c.ends, "%v", err)
				if c.ends == report.Healthy {
					assert.Equal(t, b.Locked(), me.String())
					return
				}
				assert.ErrorContains(t, err, "another run took it first")
				assert.Equal(t, b.Locked(), c.has, "it stays the other's")
			})
		}
	}
}

// TestALockIsOursOnlyWhereItWasGranted is of answers that leave open whose the lock is.
// Whatever they say, the lock of another stays, and one of ours can be given back.
func TestALockIsOursOnlyWhereItWasGranted(t *testing.T) {
	here, err := Here()
	assert.NilError(t, err)
	me, err := New("web", "apply", here)
	assert.NilError(t, err)
	gone := me
	gone.Boot, gone.Nonce = "another-boot", "gone"
	for _, c := range []struct {
		name     string
		holder   string // before; empty is nobody
		manner   string // of conflicts
		lost     bool   // the answer to the first request for the lock is
		takeover string
		ends     report.Code
		has      string // afterwards
		says     string
	}{
		{"another's, and our words come back", "another", fakestate.Echo, false, "", report.Busy, "another", "does not say by whom"},
		{"another's, our words come back, and an answer was lost", "another", fakestate.Echo, true, "", report.Busy, "another", "may be our own"},
		{"another's, and nobody is named", "another", fakestate.Mute, false, "", report.Busy, "another", "does not say by whom"},
		{"nobody's, and our words come back", "", fakestate.Echo, false, "", report.Healthy, me.String(), ""},
		{"nobody's, and an answer was lost", "", "", true, "", report.Healthy, me.String(), ""},
		{"nobody's, an answer was lost, and nobody is named", "", fakestate.Mute, true, "", report.Busy, me.String(), "STATE_LOCK_TAKEOVER=" + me.String()},
		{"ours of an earlier run, and nobody is named", gone.String(), fakestate.Mute, false, "", report.Busy, gone.String(), "does not say by whom"},
		{"ours of an earlier run, and the caller knows it", gone.String(), fakestate.Mute, false, gone.String(), report.Healthy, me.String(), ""},
		{"ours of an earlier run, known, and our words come back", gone.String(), fakestate.Echo, false, gone.String(), report.Healthy, me.String(), ""},
		{"another's, and the caller is wrong about it", "another", fakestate.Mute, false, gone.String(), report.Busy, "another", "another run took it first"},
		{"another's, and the caller only vouches for ours", "another", fakestate.Mute, false, Own, report.Busy, "another", "does not say by whom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := fakestate.New(fakestate.Strict)
			defer b.Close()
			b.Conflicts(c.manner)
			if c.holder != "" {
				b.Set(nil, &backend.LockInfo{ID: c.holder})
			}
			if c.lost {
				b.Break(func(_ *http.Request, n int) (*fakestate.Answer, bool) {
					if n > 1 {
						return nil, false
					}
					return &fakestate.Answer{}, true
				})
			}
			client, err := backend.New(b.Keys(), backend.Pace{Try: time.Hour, Pauses: []time.Duration{time.Millisecond}}, nil)
			assert.NilError(t, err)
			defer client.Close()
			l, err := Take(t.Context(), client, Asked{ID: me, Takeover: c.takeover, Version: "1.12.6"}, &report.Log{})
			assert.Equal(t, report.CodeOf(err), c.ends, "%v", err)
			assert.Equal(t, b.Locked(), c.has)
			if err != nil {
				fault, _ := errors.AsType[*report.Fault](err)
				assert.Assert(t, strings.Contains(err.Error()+" "+fault.Hint, c.says), "%v %s", err, fault.Hint)
				return
			}
			assert.NilError(t, l.Release(t.Context()))
			assert.Equal(t, b.Locked(), "")
		})
	}
}

// TestOnlyOurOwnLockIsGivenBack is of an UNLOCK that is tried again: the first may have
// been done, and the lock may be another's since.
func TestOnlyOurOwnLockIsGivenBack(t *testing.T) {
	here, err := Here()
	assert.NilError(t, err)
	me, err := New("web", "apply", here)
	assert.NilError(t, err)
	for _, c := range []struct {
		name   string
		answer fakestate.Answer // to the first; the zero one is lost
		took   bool             // it was done all the same
		then   string           // who takes the lock before the second
	}{
		{"the request is lost", fakestate.Answer{}, false, ""},
		{"the answer is lost", fakestate.Answer{}, true, ""},
		{"the answer is lost, and another takes it", fakestate.Answer{}, true, "another"},
		{"it is to come later", fakestate.Answer{Status: http.StatusServiceUnavailable}, false, ""},
		{"it was done, is to come later, and another takes it", fakestate.Answer{Status: http.StatusServiceUnavailable}, true, "another"},
	} {
		for _, way := range fakestate.Ways() {
			t.Run(c.name+", "+way, func(t *testing.T) {
				b := fakestate.New(way)
				defer b.Close()
				client, err := backend.New(b.Keys(), backend.Pace{Try: time.Hour, Pauses: []time.Duration{0}}, nil)
				assert.NilError(t, err)
				defer client.Close()
				l, err := Take(t.Context(), client, Asked{ID: me, Version: "1.12.6"}, &report.Log{})
				assert.NilError(t, err)
				unlocks := 0
				b.Break(func(r *http.Request, _ int) (*fakestate.Answer, bool) {
					if r.Method != "UNLOCK" {
						return nil, false
					}
					if unlocks++; unlocks > 1 {
						return nil, false
					}
					answer := c.answer
					answer.Then = func() {
						if c.then != "" {
							b.Set(nil, &backend.LockInfo{ID: c.then})
						}
					}
					return &answer, c.took
				})
				assert.NilError(t, l.Release(t.Context()))
				assert.Equal(t, b.Locked(), c.then)
			})
		}
	}
}

// TestALockThatNobodyNamesIsBrokenByItsID gives back a lock that only its id tells of.
func TestALockThatNobodyNamesIsBrokenByItsID(t *testing.T) {
	here, err := Here()
	assert.NilError(t, err)
	me, err := New("web", "force-unlock", here)
	assert.NilError(t, err)
	for _, manner := range []string{fakestate.Mute, fakestate.Echo} {
		b := fakestate.New(fakestate.Strict)
		b.Conflicts(manner)
		client, err := backend.New(b.Keys(), backend.Pace{Try: time.Hour}, nil)
		assert.NilError(t, err)
		b.Set(nil, &backend.LockInfo{ID: "a"})
		assert.Assert(t, Break(t.Context(), client, me, "b", "1.12.6") != nil)
		assert.Equal(t, b.Locked(), "a")
		assert.NilError(t, Break(t.Context(), client, me, "a", "1.12.6"))
		assert.Equal(t, b.Locked(), "")
		client.Close()
		b.Close()
	}
}
