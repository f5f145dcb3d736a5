package statebackend

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/methods/statebackend/protocol"
)

// BenchmarkPost stores a state of 1 MiB, synced.
func BenchmarkPost(b *testing.B) {
	_, client := served(b, Options{}, access)
	resources := 1
	for len(protocol.State(lineage, 1, resources)) < 1<<20 {
		resources *= 2
	}
	resources = resources * (1 << 20) / len(protocol.State(lineage, 1, resources))
	states := make([]string, 64)
	serial := 0
	b.SetBytes(1 << 20)
	for b.Loop() {
		if serial%len(states) == 0 {
			b.StopTimer()
			for i := range states {
				states[i] = protocol.State(lineage, serial+i+1, resources)
			}
			b.StartTimer()
		}
		got := client.Post(b.Context(), states[serial%len(states)], "")
		assert.Assert(b, got.Status == 200, "%s", got)
		serial++
	}
	b.ReportMetric(float64(len(states[0]))/(1<<20), "MiB/state")
}

// BenchmarkLock takes a lock and gives it back, synced.
func BenchmarkLock(b *testing.B) {
	_, client := served(b, Options{}, access)
	for i := 0; b.Loop(); i++ {
		lock := protocol.Lock{ID: fmt.Sprint(i)}
		assert.Assert(b, client.Lock(b.Context(), lock).Status == 200)
		assert.Assert(b, client.Unlock(b.Context(), lock).Status == 200)
	}
}
