//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

// baked are the modules of images: those that the program carries.
var baked = map[string]string{"SELF_MODULE_SOURCE": ""}

func TestIncusHosts(t *testing.T) {
	w := newIncusWorld(t)
	w.images()
	w.stateful("web")

	published := w.slipway(baked, "operator-image-publish")
	assert.Equal(t, published.code, report.Healthy)

	first := w.slipway(cold, "operator-tf-incus-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	assert.Assert(t, first.record.Changed)

	again := w.slipway(nil, "operator-tf-incus-web-apply")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, !again.record.State.Plan.Changes, strings.TrimSpace(again.stderr))
}
