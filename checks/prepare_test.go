package checks

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/env"
	"fediversity.eu/slipway/targets/report"
)

// TestPreparationGoesOn shows that one part which can't be made keeps no other from
// being made, and that each is named.
func TestPreparationGoesOn(t *testing.T) {
	var said bytes.Buffer
	made := 0
	ends := func(err error) func(context.Context, *Run, string, *report.Log) error {
		return func(context.Context, *Run, string, *report.Log) error { made++; return err }
	}
	r := &Run{Environment: env.Map(map[string]string{"CACHE_DIR": t.TempDir()}), Log: report.NewLog(report.Plain(&said))}
	err := r.prepare(t.Context(), []preparation{
		{"one", ends(errors.New("no way to the proxy"))},
		{"two", ends(errors.Join(errLeftOut, errors.New("missing part: Python 3.12")))},
		{"three", ends(errors.New("disk full"))},
		{"four", ends(nil)},
	})
	assert.Equal(t, made, 4)
	assert.ErrorContains(t, err, "prepare one: no way to the proxy")
	assert.ErrorContains(t, err, "prepare three: disk full")
	assert.Check(t, cmp.Contains(said.String(), "two: left out: missing part: Python 3.12"))
	assert.Check(t, cmp.Contains(said.String(), "four is there after "))
	assert.Assert(t, !errors.Is(err, errLeftOut), "what a host can't have is no failure")
}
