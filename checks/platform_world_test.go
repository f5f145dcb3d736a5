//go:build checks

package checks

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/checks/guest"
	"fediversity.eu/slipway/checks/incusd"
	"fediversity.eu/slipway/internal/child"
	"fediversity.eu/slipway/targets/report"
)

// platform is a world with a hypervisor that is yet to be deployed, and who is to be
// let in there.
type platform struct {
	*incusWorld
	hypervisor      *guest.Guest
	admin, operator client
}

// client is somebody who has a certificate.
type client struct{ certificate, key []byte }

// direct is the way to the hypervisor itself.
var direct = map[string]string{"SSH_JUMP": "", "SSH_JUMP_HOST_KEY": ""}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	if missing := incusd.Missing(); missing != "" {
		t.Skip("missing part: " + missing)
	}
	p := &platform{incusWorld: &incusWorld{world: newWorld(t)}}
	p.images()
	_, _, cache := given(t)
	tree, err := incusd.Tree(t.Context(), cache, testWriter{t})
	assert.NilError(t, err)
	const https = 8443
	p.hypervisor = p.bootAs(guest.Options{Kind: guest.Container, Name: "hv1", Nested: tree, Forward: []int{https}, DiskMiB: 8192}, "")
	port, _ := p.hypervisor.Port(https)
	p.admin.certificate, p.admin.key = clientIdentity(t, "admin")
	p.operator.certificate, p.operator.key = clientIdentity(t, "operator")

	// What its Incus will answer with is put there, and so is known beforehand.
	certificate, key := clientIdentity(t, "hv1")
	p.put("/var/lib/incus/server.crt", certificate)
	p.put("/var/lib/incus/server.key", key)
	other, _ := clientIdentity(t, "by-hand")
	p.put("/root/by-hand.crt", other)

	p.env["INCUS_ADDRESS"], p.env["INCUS_SERVER_CERTIFICATE"] = fmt.Sprintf("https://127.0.0.1:%d", port), string(certificate)
	p.env["SSH_JUMP"] = p.env["SSH_USER"] + "@" + net.JoinHostPort(p.env["SSH_HOST"], p.env["SSH_PORT"])
	p.env["SSH_JUMP_HOST_KEY"] = p.env["SSH_HOST_KEY"]
	p.env["TOFU_PROVIDER_MIRROR"] = p.mirror()
	p.env["SELF_MODULE_SOURCE"] = ""
	for _, machine := range []string{"gateway", "state"} {
		p.stateful(machine)
		for _, key := range []string{"TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS", "TF_HTTP_UNLOCK_ADDRESS"} {
			p.env[strings.ToUpper(machine)+"_"+key] = p.env[key]
		}
	}
	p.stateful("web")
	return p
}

// put writes a file on the hypervisor.
func (p *platform) put(path string, text []byte) {
	p.t.Helper()
	p.on(p.hypervisor, "umask 077; cat >"+path+" <<'END'\n"+string(text)+"END\n")
}

// facts are what the provider says of itself: whose keys open machines, who may do
// everything, and whether the operator is let into its project.
func (p *platform) facts(operator bool) {
	p.t.Helper()
	var facts map[string]any
	assert.NilError(p.t, json.Unmarshal([]byte(p.hosting()), &facts))
	may := []string{}
	if operator {
		may = append(may, string(p.operator.certificate))
	}
	facts["incusAdministrators"] = []string{string(p.admin.certificate)}
	facts["incusProjects"] = map[string]any{tenant: map[string]any{"certificates": may}}
	text, err := json.Marshal(facts)
	assert.NilError(p.t, err)
	p.env["HOSTING_CONFIG"] = string(text)
}

func (p *platform) asProvider() {
	p.t.Helper()
	p.as(p.admin.certificate, p.admin.key)
	delete(p.env, "INCUS_PROJECT")
}

func (p *platform) asOperator() {
	p.t.Helper()
	p.as(p.operator.certificate, p.operator.key)
	p.env["INCUS_PROJECT"] = tenant
}

// healthy runs a program that ends well.
func (p *platform) healthy(program string, changes map[string]string) outcome {
	p.t.Helper()
	if strings.HasPrefix(program, "hypervisor") {
		changes = direct
	}
	o := p.slipway(changes, program)
	assert.Equal(p.t, o.code, report.Healthy)
	return o
}

// through runs a script on an instance of the operator's, over the hypervisor, by
// the ssh of this host.
func (p *platform) through(instance, script string) string {
	p.t.Helper()
	address := p.on(p.hypervisor, "incus list --project "+tenant+" -f csv -c 4 "+instance+" | cut -d ' ' -f 1")
	jump := p.ssh(p.hypervisor, "").Args
	jump = append([]string{"ssh", "-W", "%h:%p"}, jump[:len(jump)-1]...)
	out, err := child.Command{Path: "ssh", Env: pairs(p.env), Args: []string{
		"-F", "none", "-q", "-i", p.env["SSH_KEY_FILE"], "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "ProxyCommand=" + strings.Join(jump, " "), "root@" + address, script,
	}}.Output(p.t.Context())
	assert.NilError(p.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}
