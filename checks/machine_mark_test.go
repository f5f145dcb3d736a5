//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

// TestMachineMark meets the mark of another deployment on a machine.
func TestMachineMark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.boot(guest.Container)
	first := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	assert.Assert(t, strings.Contains(first.stderr, "the machine is operator-web from now on"))
	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	second := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, second.code, report.Healthy)
	assert.Assert(t, !strings.Contains(second.stderr, "from now on"))

	w.on(g, "sed -i s/operator-web/operator-db/ /var/lib/slipway/mark")
	all := boots + "; ls /nix/store /nix/var/nix/profiles; cat /var/lib/slipway/*"
	before := w.on(g, all)
	for _, verb := range []string{"apply", "plan", "rollback", "verify"} {
		for _, text := range []string{"second", "third"} { // unchanged, and not
			t.Run(verb+" "+text, func(t *testing.T) {
				w := w.as(t)
				w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", text))
				o := w.slipway(nil, "operator-ssh-web-"+verb)
				assert.Equal(t, o.code, report.Refused)
				assert.Assert(t, strings.Contains(o.stderr, "operator-db"), o.stderr)
				assert.Assert(t, strings.Contains(o.stderr, "TAKE_OVER=operator-db"), o.stderr)
				assert.Equal(t, w.on(g, all), before)
			})
		}
	}
	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	other := map[string]string{"TAKE_OVER": "operator-other"}
	assert.Equal(t, w.slipway(other, "operator-ssh-web-apply").code, report.Refused)
	assert.Equal(t, w.on(g, all), before)

	// Also where nothing else is to be changed.
	taken := w.slipway(map[string]string{"TAKE_OVER": "operator-db"}, "operator-ssh-web-apply")
	assert.Equal(t, taken.code, report.Healthy)
	assert.Assert(t, strings.Contains(taken.stderr, "operator-web from now on, and no longer operator-db"), taken.stderr)
	assert.Equal(t, w.slipway(nil, "operator-ssh-web-verify").code, report.Healthy)
}
