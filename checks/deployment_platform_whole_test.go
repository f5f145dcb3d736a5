//go:build checks

package checks

import (
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"

	"fediversity.eu/slipway/effects/netbox/fake"
	"fediversity.eu/slipway/groups/operator"
	"fediversity.eu/slipway/targets/report"
)

// TestDeploymentPlatformWhole makes a whole house of a bare hypervisor in one run: the
// hypervisor, the provider's machines, the operator's, and then the zone, the
// delegation and the inventory with the addresses that the machines came by.
func TestDeploymentPlatformWhole(t *testing.T) {
	p := newPlatform(t)
	p.facts(true)
	// As the sshd of NixOS would, the one that the machine came with takes new settings.
	p.on(p.hypervisor, `mkdir -p /etc/ssh/sshd_config.d
		echo 'Include /etc/static/ssh/sshd_config' >/etc/ssh/sshd_config.d/system.conf
		systemd-run --quiet --unit=settings --path-property=PathChanged=/etc/static systemctl reload ssh.service`)
	assert.NilError(t, os.RemoveAll(p.source))
	assert.NilError(t, os.CopyFS(p.source, os.DirFS("../groups")))
	p.write("operator/forge.nix", healthz) // the real one waits for a password that is put there by hand
	zone, inventory := p.whole()

	made := p.slipway(map[string]string{"STATE_PHASE": "cold", "DNS_NEW_ZONES": bindDomain}, "platform-combined")
	assert.Equal(t, made.code, report.Healthy)
	assert.Assert(t, cmp.Len(made.record.Members, 11))
	assert.Equal(t, p.on(p.hypervisor, "incus list --all-projects -f csv -c ns | sort"),
		"hosting-provider-gateway,RUNNING\nhosting-provider-state,RUNNING\noperator-db,RUNNING\noperator-forge,RUNNING\noperator-web,RUNNING")
	address := p.on(p.hypervisor, "incus list --project "+tenant+" -f csv -c 4 operator-web | cut -d ' ' -f 1")
	name := "web." + bindDomain + "."
	assert.DeepEqual(t, zone.ask(name, "A"), []string{name + " 3600 IN A " + address})
	assert.Assert(t, cmp.Contains(inventoried(t, inventory), `"`+address+`/`))

	again := p.slipway(nil, "platform-combined")
	assert.Equal(t, again.code, report.Healthy)
	assert.Assert(t, !again.record.Changed)
	planned := p.slipway(nil, "platform-combined-plan")
	assert.Equal(t, planned.code, report.Healthy)
	assert.Assert(t, cmp.Len(planned.record.Members, 11))
	for _, m := range planned.record.Members {
		assert.Check(t, !wouldChange(m), "%s plans changes where apply made none:\n%s", m.Program, planned.stdout)
	}

	assert.Equal(t, p.slipway(nil, "platform-combined-destroy").code, report.Healthy)
	assert.Equal(t, p.on(p.hypervisor, "incus list --all-projects -f csv"), "")
	assert.Equal(t, p.on(p.hypervisor, "incus storage volume list default --all-projects -f csv -c n | sort"), "operator-db-data\noperator-forge-data", "what is declared to stay")

	// What the zone will be shows only when the machines are made again.
	future := p.slipway(cold, "operator-tf-incus-operator-combined-plan")
	assert.Equal(t, future.code, report.Healthy)
	assert.Assert(t, cmp.Contains(future.stdout, "incus_instance.web will be created"))
	for _, effect := range []string{"dns", "netbox"} {
		assert.Assert(t, cmp.Contains(future.stdout, effect+": not planned: web, forge, db are not made yet"))
	}
}

// wouldChange tells whether a plan's record shows anything that apply would do.
func wouldChange(r *report.Record) bool {
	zones := slices.ContainsFunc(r.Zones, func(z report.Zone) bool { return z.Create+z.Change+z.Delete > 0 })
	objects := r.Inventory != nil && *r.Inventory != (report.Objects{})
	state := r.State != nil && r.State.Plan != nil && r.State.Plan.Changes
	return zones || objects || state || r.Plan != nil && r.Plan.Changes
}

// whole gives the coordinates of the whole house, each group's with its name before
// them where they are not everybody's, and what the effects write to.
func (p *platform) whole() (*nameServer, *fake.Server) {
	p.t.Helper()
	runDNS(p.t, operator.Group(), "validate") // installs OctoDNS where checks share it
	zone := newNameServer(p.t, "BIND", bindDomain+".")
	inventory := fake.New("4.7")
	p.t.Cleanup(inventory.Close)
	delegation := newDelegated(p.t).at("gandi", bindDomain, bindAddress)

	octodns := filepath.Join(p.dir, "octodns-sync")
	assert.NilError(p.t, os.WriteFile(octodns, []byte("#!/bin/sh\nexec "+python(p.t)+" -m octodns.cmds.sync \"$@\"\n"), 0o700))

	all := maps.Clone(p.env)
	for _, key := range []string{
		"SSH_HOST", "SSH_PORT", "SSH_HOST_KEY", "SSH_USER", "SSH_KEY_FILE", "SSH_JUMP", "SSH_JUMP_HOST_KEY",
		"INCUS_CLIENT_CERTIFICATE", "INCUS_CLIENT_KEY_FILE", "TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS",
	} {
		delete(all, key)
	}
	for _, key := range []string{"SSH_HOST", "SSH_PORT", "SSH_HOST_KEY", "SSH_USER"} {
		all["HV1_"+key] = p.env[key]
	}
	all["HYPERVISOR_SSH_KEY_FILE"] = p.admin.ssh
	for group, who := range map[string]func(){"HOSTING_PROVIDER_": p.asProvider, "OPERATOR_": p.asOperator} {
		who()
		key := filepath.Join(p.dir, group+"client.key")
		text, err := os.ReadFile(p.env["INCUS_CLIENT_KEY_FILE"])
		assert.NilError(p.t, err)
		assert.NilError(p.t, os.WriteFile(key, text, 0o600))
		all[group+"INCUS_CLIENT_KEY_FILE"] = key
		for _, name := range []string{"SSH_KEY_FILE", "SSH_JUMP", "SSH_JUMP_HOST_KEY", "INCUS_CLIENT_CERTIFICATE", "HOSTING_CONFIG", "INCUS_PROJECT"} {
			all[group+name] = p.env[name]
		}
	}
	for _, machine := range []string{"gateway", "state", "web", "forge", "db"} {
		p.stateful("whole-" + machine)
		for _, key := range []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"} {
			all[strings.ToUpper(machine)+"_"+key] = p.env[key]
		}
	}
	maps.Copy(all, zone.vars)
	maps.Copy(all, delegation.variables)
	maps.Copy(all, map[string]string{
		"HOSTING_CONFIG": p.hostingConfig, "SELF_MODULE_SOURCE": p.source, "DNS_OCTODNS": octodns,
		"NETBOX_URL": inventory.URL, "NETBOX_TOKEN": fake.TokenV2,
	})
	p.env = all
	return zone, inventory
}

// inventoried is what an inventory has of addresses.
func inventoried(t *testing.T, inventory *fake.Server) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, inventory.URL+"/api/ipam/ip-addresses/", nil)
	assert.NilError(t, err)
	request.Header.Set("Authorization", "Bearer "+fake.TokenV2)
	response, err := http.DefaultClient.Do(request)
	assert.NilError(t, err)
	defer func() { assert.Check(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	assert.NilError(t, err)
	return string(text)
}
