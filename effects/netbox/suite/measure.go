package suite

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/groups"
)

// Measure keeps many machines, each with an address of either family and a
// service, and counts the requests of a first run and of one with nothing to do.
func Measure(t *testing.T, server Server, machines int) {
	t.Helper()
	w := newWorld(t, server)
	w.group.Machines, w.group.Inventory.Assets = nil, nil
	for n := range machines {
		name := fmt.Sprintf("m%d", n)
		w.group.Machines = append(w.group.Machines, groups.Machine{Name: name, Placement: groups.External{}})
		w.group.Inventory.Assets = append(w.group.Inventory.Assets, groups.Asset{
			Machine: name, Services: []groups.Service{{Name: "https", Ports: []string{"tcp/443"}}},
		})
		w.env[fmt.Sprintf("M%d_ADDRESSES", n)] = fmt.Sprintf("10.%d.%d.%d, %s", 100+w.number, n/200, n%200+1, w.six(n+1))
	}
	timed := func(verb string) outcome {
		began := time.Now()
		o := w.run(verb)
		assert.NilError(t, o.err)
		t.Logf("%d machines: %s took %.1f s and asked %v", machines, verb, time.Since(began).Seconds(), o.asked)
		return o
	}
	first := timed("apply")
	assert.Assert(t, first.changed)
	again := timed("apply")
	assert.Equal(t, again.writes(), 0)
	// The tag, six kinds of scaffold, six kinds of its own: one page each.
	assert.Equal(t, again.asked["GET"], 13)
	assert.Assert(t, first.writes() < 60, "%d writes", first.writes())
	timed("destroy")
}
