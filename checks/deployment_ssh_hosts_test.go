//go:build checks

package checks

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/targets/report"
)

func TestDeploymentSSHHosts(t *testing.T) {
	w := newWorld(t)
	g := w.boot(guest.VM)

	first := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, first.code, report.Healthy)
	assert.Equal(t, first.stdout, "", "apply has no result but its exit code")
	assert.Assert(t, first.record.Changed)
	assert.Assert(t, first.record.Copied.Paths > 0)
	assert.Equal(t, w.on(g, "readlink -f /run/current-system"), first.record.Toplevel)
	assert.Equal(t, w.on(g, "systemctl is-active trivial.service"), "active")
	assert.Equal(t, w.on(g, "systemctl list-units --all --plain --no-legend 'slipway-*'"), "", "no unit of a switch is left")

	again := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	assert.Assert(t, again.record.Copied == nil)
	assert.Assert(t, again.record.Switch == nil, "nothing is switched")
	assert.Assert(t, again.record.Source.Cached, "nothing is evaluated")
	assert.Equal(t, again.record.Generation, first.record.Generation)

	w.write("operator/web.nix", strings.ReplaceAll(trivial, "first", "second"))
	// The machine has no cache to fetch from, so that all is sent all the same.
	changed := w.slipway(map[string]string{"SSH_SUBSTITUTE": "true"}, "operator-ssh-web-apply")
	assert.Equal(t, changed.code, report.Healthy)
	assert.Assert(t, changed.record.Changed)
	// The file, the tree of /etc that it is in, and the toplevel.
	assert.Assert(t, changed.record.Copied.Paths <= 3, "%d paths were copied for one file", changed.record.Copied.Paths)
	assert.Equal(t, w.on(g, "cat /etc/motd-of-check"), "second")
	assert.Equal(t, changed.record.Generation, first.record.Generation+1)

	w.write("operator/web.nix", strings.ReplaceAll(trivial, "sleep 1000000", "sh -c 'echo the reason is this >&2; exit 7'"))
	broken := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, broken.code, report.Unhealthy)
	for _, text := range []string{"trivial.service: failed", "exit status 7", "the reason is this"} {
		assert.Assert(t, strings.Contains(broken.stderr, text), "%q is not in what the run said", text)
	}
	assert.Equal(t, len(broken.record.Units), 1)
	assert.Equal(t, broken.record.Units[0].Name, "trivial.service")

	verify := w.slipway(nil, "operator-ssh-web-verify")
	assert.Equal(t, verify.code, report.Unhealthy)

	w.write("operator/web.nix", trivial)
	mended := w.slipway(nil, "operator-ssh-web")
	assert.Equal(t, mended.code, report.Healthy)
	assert.Equal(t, mended.record.Toplevel, first.record.Toplevel)

	generations := w.slipway(nil, "operator-ssh-web-generations")
	assert.Equal(t, generations.code, report.Healthy)
	lines := strings.Split(strings.TrimSpace(generations.stdout), "\n")
	assert.Equal(t, len(lines), 3)
	assert.Assert(t, strings.HasSuffix(lines[2], " default running"), lines[2])
	assert.Assert(t, strings.HasSuffix(lines[0], " running"), "generation 1 has the same toplevel: %s", lines[0])

	// What a restart loop looks like: never failed, never well.
	w.write("operator/web.nix", strings.ReplaceAll(trivial, `serviceConfig.ExecStart = "${pkgs.busybox}/bin/busybox sleep 1000000";`,
		`serviceConfig = { Restart = "always"; RestartSec = 3; ExecStart = "${pkgs.busybox}/bin/busybox sh -c 'exit 9'"; };`))
	loop := w.slipway(nil, "operator-ssh-web-apply")
	assert.Equal(t, loop.code, report.Unhealthy)
	assert.Assert(t, strings.Contains(loop.stderr, "trivial.service: restarts again and again"), loop.stderr)
}
