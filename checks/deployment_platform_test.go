//go:build checks

package checks

import (
	"os"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentPlatform deploys a hypervisor, on it what a provider runs, and on it
// an operator's machine in the operator's project: all by the modules that the
// program carries. Only the way to the machines on it leads over the hypervisor.
func TestDeploymentPlatform(t *testing.T) {
	const hypervisor, provider, web = "hypervisor-ssh-hv1", "hosting-provider-tf-incus-combined", "operator-tf-incus-operator-web"
	p := newPlatform(t)
	p.facts(true)
	p.healthy(hypervisor, nil)
	p.sshd()
	p.on(p.hypervisor, "incus config trust add-certificate --name by-hand /tmp/by-hand.crt")

	assert.Assert(t, p.healthy(provider, cold).record.Changed)
	assert.Equal(t, p.on(p.hypervisor, "incus list -f csv -c ns | sort"), "hosting-provider-gateway,RUNNING\nhosting-provider-state,RUNNING")

	p.asOperator()
	p.healthy("operator-image-publish", nil)
	made := p.healthy(web, cold)
	assert.Equal(t, p.on(p.hypervisor, "incus list --project "+tenant+" -f csv -c ns"), "operator-web,RUNNING")
	assert.Equal(t, p.through("operator-web", "readlink -f /run/current-system"), made.record.Toplevel)
	p.refused(append(p.jump(), "true")...)
	p.refused(p.jump("-W", "127.0.0.1:8443")...)
	p.refused(p.jump("-N", "-R", "0:127.0.0.1:22")...)

	// Everything again: nothing is done.
	assert.Assert(t, !p.healthy(web, nil).record.Changed)
	p.asProvider()
	assert.Assert(t, !p.healthy(provider, nil).record.Changed)
	assert.Assert(t, !p.healthy(hypervisor, nil).record.Changed)

	// The operator is shut out, and what its project might have is as declared; who
	// was let in by hand stays.
	p.on(p.hypervisor, "incus project set "+tenant+" restricted.devices.proxy=allow")
	p.facts(false)
	assert.Assert(t, p.healthy(hypervisor, nil).record.Changed)
	assert.Equal(t, p.on(p.hypervisor, "incus project get "+tenant+" restricted.devices.proxy"), "")
	assert.Equal(t, p.on(p.hypervisor, "incus config trust list -f csv -c n | sort"), "administrator\nby-hand")
	p.asOperator()
	shut := p.slipway(nil, web)
	assert.Equal(t, shut.code, report.Refused)
	assert.Assert(t, cmp.Contains(shut.stderr, "does not know our certificate"))
	p.refused(p.jump("-W", "127.0.0.1:22")...)

	// It is let in again, and all goes in the reverse order.
	p.facts(true)
	p.healthy(hypervisor, nil)
	p.asOperator()
	p.healthy(web+"-destroy", nil)
	p.asProvider()
	p.healthy(provider+"-destroy", nil)
	assert.Equal(t, p.on(p.hypervisor, "incus list --all-projects -f csv"), "")
	assert.Equal(t, p.on(p.hypervisor, "incus storage volume list default --all-projects -f csv"), "")

	p.cannotStart(hypervisor)
}

// cannotStart shows that a hypervisor whose Incus can't start is not well. It is given
// up on sooner than by the real module.
func (p *platform) cannotStart(hypervisor string) {
	p.t.Helper()
	assert.NilError(p.t, os.RemoveAll(p.source))
	assert.NilError(p.t, os.CopyFS(p.source, os.DirFS("../groups")))
	p.write("hypervisor/hv1.nix", "{ imports = [ ./declared.nix ]; virtualisation.incus.startTimeout = 5; }")
	declared, err := os.ReadFile("../groups/hypervisor/hv1.nix")
	assert.NilError(p.t, err)
	p.write("hypervisor/declared.nix", string(declared))
	p.env["SELF_MODULE_SOURCE"] = p.source
	p.on(p.hypervisor, "systemctl stop incus.service && echo spoiled >/var/lib/incus/server.key")
	sick := p.slipway(direct, hypervisor)
	assert.Equal(p.t, sick.code, report.Unhealthy)
	assert.Assert(p.t, cmp.Contains(sick.stderr, "incus.service: "))
}
