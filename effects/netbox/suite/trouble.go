package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
	"fediversity.eu/slipway/targets/report"
)

func tokens(w *world) {
	o := w.run("apply", "NETBOX_TOKEN="+strings.Repeat("0", 40))
	assert.Equal(w, o.code, report.Refused)
	contains(w, o.err.Error(), "403")
	contains(w, o.hints, "NETBOX_TOKEN must be valid")
	o = w.run("plan", "NETBOX_TOKEN=nbt_000000000000."+strings.Repeat("0", 40))
	assert.Equal(w, o.code, report.Refused)
	o = w.run("plan", "NETBOX_TOKEN="+w.server.ReadOnly)
	assert.NilError(w, o.err)
	o = w.run("apply", "NETBOX_TOKEN="+w.server.ReadOnly)
	assert.Equal(w, o.code, report.Refused)
	assert.Assert(w, !o.changed)
	assert.Equal(w, o.writes(), 1)
	contains(w, o.hints, "may write")
	w.applied("NETBOX_TOKEN=" + w.server.TokenV1)
	w.settled()
}

func pages(w *world) {
	w.applied()
	once := w.run("plan").asked["GET"]
	w.front.set(func(f *front) { f.page = 2 })
	w.settled()
	o := w.run("plan")
	assert.Assert(w, o.asked["GET"] > once, "%d with small pages, %d without", o.asked["GET"], once)
	contains(w, o.out, "nothing to change")
	destroyed(w)
}

func validates(w *world) {
	long := strings.Repeat("x", 70)
	w.edit("web", func(a *groups.Asset) { a.Interface = long })
	o := w.run("apply")
	assert.Equal(w, o.code, report.Failed)
	assert.Assert(w, o.changed)
	contains(w, o.err.Error(), "create interface web "+long+": name: Ensure this field has no more than 64 characters.")
	w.edit("web", func(a *groups.Asset) { a.Interface = "eth0"; a.Services[0].Name = strings.Repeat("y", 101) })
	o = w.run("apply")
	assert.Equal(w, o.code, report.Failed)
	contains(w, o.err.Error(), "create service web yyy", ": name: Ensure this field has no more than 100 characters.")
	w.edit("web", func(a *groups.Asset) { a.Services[0].Name = "https" })
	w.applied()
	w.settled()
}

// finishes loses the answer to one write after the other; NetBox has done each.
func finishes(w *world) {
	cut, step := false, 1
	if w.server.Slow {
		step = 4
	}
	for n := 1; ; n += step {
		writes := 0
		cut = false
		w.front.set(func(f *front) {
			f.cut = func(r *http.Request) bool {
				if r.Method != http.MethodGet {
					writes++
				}
				cut = cut || writes == n
				return writes == n && r.Method != http.MethodGet
			}
		})
		o := w.run("apply")
		w.front.reset()
		if !cut {
			assert.NilError(w, o.err)
			assert.Assert(w, n > 10, "%d writes", n-1)
			break
		}
		assert.Equal(w, o.code, report.Unknown)
		assert.Assert(w, o.changed)
		w.finished()
		destroyed(w)
	}
	destroyed(w)
}

// finished runs apply, which must find what an earlier one did, and do the rest.
func (w *world) finished() {
	w.Helper()
	w.applied()
	assert.Equal(w, w.marked(), 21)
	assert.Equal(w, w.vm("web").at("primary_ip4", "address"), w.four(1)+"/32")
	w.settled()
}

func interrupted(w *world) {
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	w.front.set(func(f *front) {
		f.cut = func(r *http.Request) bool {
			if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "ip-addresses") {
				cancel(&report.Interruption{Signal: syscall.SIGTERM})
			}
			return false
		}
	})
	o := w.runFor(ctx, "apply")
	w.front.reset()
	assert.Equal(w, o.code, report.Terminated)
	assert.Assert(w, o.changed)
	w.finished()
}

func asksAgain(w *world) {
	var refused []string
	w.front.set(func(f *front) {
		f.instead = func(r *http.Request) (int, http.Header) {
			key := r.Method + r.URL.String()
			if r.Method == http.MethodPost || slices.Contains(refused, key) {
				return 0, nil
			}
			refused = append(refused, key)
			status := []int{http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusBadGateway}[len(refused)%3]
			return status, http.Header{"Retry-After": {"0"}}
		}
	})
	o := w.run("plan")
	assert.NilError(w, o.err)
	assert.Equal(w, o.asked["GET"], 2*len(refused))
	w.front.reset()
	w.applied()
	w.patch("virtualization/virtual-machines/", w.vm("web").id(), object{"status": "offline"})
	tries := 0
	w.front.set(func(f *front) {
		f.instead = func(r *http.Request) (int, http.Header) {
			if r.Method == http.MethodPatch {
				tries++
			}
			if r.Method == http.MethodPatch && tries == 1 {
				return http.StatusServiceUnavailable, nil
			}
			return 0, nil
		}
	})
	w.applied()
	assert.Equal(w, tries, 2)
	assert.Equal(w, w.vm("web").at("status", "value"), "active")
}

func writesOnce(w *world) {
	w.front.set(func(f *front) {
		f.instead = func(r *http.Request) (int, http.Header) {
			if r.Method == http.MethodPost {
				return http.StatusServiceUnavailable, nil
			}
			return 0, nil
		}
	})
	o := w.run("apply")
	assert.Equal(w, o.code, report.Unknown)
	assert.Equal(w, o.asked["POST"], 1)
}

// writesAgain has a proxy that limits how often it is asked: what it holds back,
// NetBox never saw.
func writesAgain(w *world) {
	limited := func(after string, is func(writes int) bool) {
		writes := 0
		w.front.set(func(f *front) {
			f.instead = func(r *http.Request) (int, http.Header) {
				if r.Method == http.MethodGet {
					return 0, nil
				}
				if writes++; is(writes) {
					return http.StatusTooManyRequests, http.Header{"Retry-After": {after}}
				}
				return 0, nil
			}
		})
	}
	limited("86400", func(int) bool { return true })
	o := w.run("apply")
	assert.Equal(w, o.code, report.Unknown)
	contains(w, o.hints, "run it again later")
	assert.Assert(w, !o.changed)
	assert.Equal(w, o.asked["POST"], 1, "nobody waits for a day")
	limited("0", func(writes int) bool { return writes%2 == 1 })
	w.applied()
	w.front.reset()
	w.settled()
}

func looksFail(w *world) {
	o := w.run("plan", "NETBOX_URL=http://127.0.0.1:1")
	assert.Equal(w, o.code, report.Unknown)
	contains(w, o.hints, "NETBOX_URL must name a NetBox that answers")
	for _, status := range []int{http.StatusInternalServerError, http.StatusNotFound, http.StatusFound, http.StatusOK} {
		w.front.set(func(f *front) {
			f.instead = func(r *http.Request) (int, http.Header) {
				if strings.Contains(r.URL.Path, "/sites/") || status == http.StatusOK {
					return status, http.Header{"Location": {"https://netbox.example.org/"}}
				}
				return 0, nil
			}
		})
		o := w.run("apply")
		assert.Equal(w, o.code, report.Unknown, fmt.Sprint(status))
		assert.Equal(w, o.writes(), 0)
		assert.Assert(w, o.err != nil && !o.changed)
	}
}
