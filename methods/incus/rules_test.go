package incus

import (
	"testing"

	"gotest.tools/v3/assert"

	"fediversity.eu/slipway/targets/report"
)

func TestWhatARestrictedCertificateMayNot(t *testing.T) {
	for _, c := range []struct {
		name string
		plan plan
		why  string // empty is allowed
	}{
		{"a machine as declared", plan{
			config:  map[string]string{"security.nesting": "true", "limits.memory": "512MiB", mark: "operator-web"},
			devices: []device{{"root", "disk", map[string]string{"pool": "default", "path": "/"}}, {"eth0", "nic", map[string]string{"network": "incusbr0"}}},
		}, ""},
		{"a member of the cluster", plan{target: "member1"}, "restricted.cluster.target"},
		{"its own project", plan{makes: []string{"project"}}, "makes and changes no project"},
		{"a network of its own", plan{makes: []string{"network"}}, "makes and changes no network"},
		{"a profile of its own", plan{makes: []string{"profile"}, uses: []string{"default"}}, ""},
		{"settings of LXC", plan{config: map[string]string{"raw.lxc": "x"}}, "restricted.containers.lowlevel"},
		{"settings of QEMU", plan{config: map[string]string{"raw.qemu": "x"}}, "restricted.virtual-machines.lowlevel"},
		{"a module of the kernel", plan{config: map[string]string{"linux.kernel_modules": "x"}}, "restricted.containers.lowlevel"},
		{"what is the server's", plan{config: map[string]string{"volatile.eth0.hwaddr": "x"}}, "is the server's"},
		{"root of the host", plan{config: map[string]string{"security.privileged": "true"}}, "restricted.containers.privilege"},
		{"not root of the host", plan{config: map[string]string{"security.privileged": "false"}}, ""},
		{"system calls", plan{config: map[string]string{"security.syscalls.intercept.mount": "true"}}, "restricted.containers.interception"},
		{"a kind of card", plan{devices: []device{{"eth1", "nic", map[string]string{"nictype": "macvlan", "parent": "eth0"}}}}, "nictype"},
		{"an interface of the host", plan{devices: []device{{"eth1", "nic", map[string]string{"parent": "br0"}}}}, "parent"},
		{"no network", plan{devices: []device{{"eth1", "nic", map[string]string{}}}}, "restricted.devices.nic"},
		{"a folder of the host", plan{devices: []device{{"d", "disk", map[string]string{"source": "/srv", "path": "/srv"}}}}, "restricted.devices.disk"},
		{"a port of the host", plan{devices: []device{{"p", "proxy", nil}}}, "restricted.devices.proxy"},
		{"hardware", plan{devices: []device{{"g", "gpu", nil}}}, "restricted.devices.gpu"},
		{"less than the profile gives", plan{devices: []device{{"eth1", "none", nil}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.plan.within()
			if c.why == "" {
				assert.NilError(t, err)
				return
			}
			assert.Equal(t, report.CodeOf(err), report.Usage)
			assert.ErrorContains(t, err, c.why)
		})
	}
}
