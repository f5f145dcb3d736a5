//go:build checks

package checks

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
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
	hostingConfig   string // the provider's
}

// client is somebody who has a certificate, and a key for machines.
type client struct {
	certificate, key []byte
	ssh              string // file
}

// direct is the way to the hypervisor itself.
var direct = map[string]string{"SSH_JUMP": "", "SSH_JUMP_HOST_KEY": ""}

func newPlatform(t *testing.T) *platform {
	t.Helper()
	if missing := incusd.Missing(); missing != "" {
		t.Skip("missing part: " + missing)
	}
	p := &platform{incusWorld: &incusWorld{world: patientWorld(t)}}
	p.images()
	_, _, cache := given(t)
	tree, err := incusd.Tree(t.Context(), cache, testWriter{t})
	assert.NilError(t, err)
	const https = 8443
	p.hypervisor = p.bootAs(guest.Options{Kind: guest.Container, Name: "hv1", Nested: tree, Forward: []int{https}, DiskMiB: 8192}, "")
	port, _ := p.hypervisor.Port(https)
	p.admin.certificate, p.admin.key = clientIdentity(t, "admin")
	p.operator.certificate, p.operator.key = clientIdentity(t, "operator")
	p.admin.ssh, p.operator.ssh = p.env["SSH_KEY_FILE"], p.sshKey()

	// What its Incus will answer with is put there, and so is known beforehand.
	certificate, key := clientIdentity(t, "hv1")
	p.put("/var/lib/incus/server.crt", certificate)
	p.put("/var/lib/incus/server.key", key)
	other, _ := clientIdentity(t, "by-hand")
	p.put("/tmp/by-hand.crt", other)

	p.env["INCUS_ADDRESS"], p.env["INCUS_SERVER_CERTIFICATE"] = fmt.Sprintf("https://127.0.0.1:%d", port), string(certificate)
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
	certificates, keys := []string{}, []string{}
	if operator {
		certificates, keys = append(certificates, string(p.operator.certificate)), append(keys, publicHalf(p.t, p.operator.ssh))
	}
	facts, err := json.Marshal(map[string]any{
		"authorizedKeys":      []string{publicHalf(p.t, p.admin.ssh)},
		"incusAdministrators": []string{string(p.admin.certificate)},
		"incusProjects":       map[string]any{tenant: map[string]any{"certificates": certificates, "jumpKeys": keys}},
	})
	assert.NilError(p.t, err)
	p.hostingConfig = string(facts)
	p.asProvider()
}

// asProvider makes programs come from who runs the hypervisor.
func (p *platform) asProvider() {
	p.t.Helper()
	p.come(p.admin, p.env["SSH_USER"])
	p.env["HOSTING_CONFIG"] = p.hostingConfig
	delete(p.env, "INCUS_PROJECT")
}

// asOperator makes them come from who has a project there, and may only pass through
// the hypervisor.
func (p *platform) asOperator() {
	p.t.Helper()
	p.come(p.operator, "jump")
	p.env["HOSTING_CONFIG"] = p.hosting()
	p.env["INCUS_PROJECT"] = tenant
}

func (p *platform) come(who client, over string) {
	p.t.Helper()
	p.as(who.certificate, who.key)
	p.env["SSH_KEY_FILE"] = who.ssh
	p.env["SSH_JUMP"] = over + "@" + net.JoinHostPort(p.env["SSH_HOST"], p.env["SSH_PORT"])
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

// sshd makes the hypervisor's sshd, which the machine came with, take the settings of
// the system.
func (p *platform) sshd() {
	p.t.Helper()
	p.on(p.hypervisor, `mkdir -p /etc/ssh/sshd_config.d
		echo 'Include /etc/static/ssh/sshd_config' >/etc/ssh/sshd_config.d/system.conf
		systemctl reload ssh.service`)
}

// jump is the ssh of this host to the hypervisor, as an operator comes there.
func (p *platform) jump(options ...string) []string {
	return slices.Concat(p.bare(), options, []string{"-p", p.env["SSH_PORT"], "jump@" + p.env["SSH_HOST"]})
}

func (p *platform) bare() []string {
	return []string{
		"-F", "none", "-q", "-i", p.operator.ssh, "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
		"-o", "UserKnownHostsFile=/dev/null", "-o", "ConnectTimeout=60", "-o", "ExitOnForwardFailure=yes",
	}
}

// refused shows that the hypervisor has no more for an operator than the way through.
func (p *platform) refused(args ...string) {
	p.t.Helper()
	_, err := child.Command{Path: "ssh", Env: pairs(p.env), Args: args}.Output(p.t.Context())
	assert.Assert(p.t, err != nil, "ssh %v went through", args)
}

// through runs a script on an instance of the operator's, over the hypervisor.
func (p *platform) through(instance, script string) string {
	p.t.Helper()
	address := p.on(p.hypervisor, "incus list --project "+tenant+" -f csv -c 4 "+instance+" | cut -d ' ' -f 1")
	proxy := strings.Join(append([]string{"ssh"}, p.jump("-W", "%h:%p")...), " ")
	out, err := child.Command{Path: "ssh", Env: pairs(p.env), Args: append(p.bare(), "-o", "ProxyCommand="+proxy, "root@"+address, script)}.Output(p.t.Context())
	assert.NilError(p.t, err, "%s", out)
	return strings.TrimSpace(string(out))
}
