package lock

import (
	"encoding/json"
	"net/http"
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
