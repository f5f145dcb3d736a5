//go:build checks

package nixpkgs_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"

	"fediversity.eu/slipway/checks/guest"
)

// declare builds a declared machine and copies it to the machine.
func (m machine) declare(t *testing.T, module string) string {
	t.Helper()
	source, err := filepath.Abs("../../groups")
	assert.NilError(t, err)
	toplevel := m.nix.build(t, system{source: source, modules: []string{module}, hosting: map[string]any{
		"sites": map[string]any{"git.example.org": "http://127.0.0.1:3000"},
	}})
	m.copy(t, toplevel)
	return toplevel
}

// get asks the machine's web server for a page of a host. The server counts as
// started before it listens.
func (m machine) get(t *testing.T, host, path string) (int, string) {
	t.Helper()
	port, ok := m.guest.Port(80)
	assert.Assert(t, ok)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	assert.NilError(t, err)
	request.Host = host
	var status int
	var body []byte
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return poll.Continue("%v", err)
		}
		defer func() { _ = response.Body.Close() }()
		if body, err = io.ReadAll(response.Body); err != nil {
			return poll.Continue("%v", err)
		}
		status = response.StatusCode
		return poll.Success()
	}, poll.WithTimeout(2*time.Minute), poll.WithDelay(100*time.Millisecond))
	return status, string(body)
}

func TestDeclaredMachinesRun(t *testing.T) {
	m := bootMachine(t, guest.Container, 80)

	for _, test := range []struct{ module, unit, then string }{
		{"dev/local.nix", "nginx.service", ""},
		{"operator/web.nix", "nginx.service", ""},
		{"operator/db.nix", "postgresql.target postgresql.service postgresql-setup.service", "busybox nc 127.0.0.1 5432 </dev/null | grep -q 'no database here'"},
		{"hostingprovider/gateway.nix", "nginx.service", ""},
		{"hostingprovider/state.nix", "nginx.service postgresql.service", ""},
		{"hypervisor/hv1.nix", "incus.service incus-preseed.service", "grep -q incusbr0 /var/lib/incus/preseed.yaml"},
	} {
		t.Run(strings.ReplaceAll(test.module, "/", "-"), func(t *testing.T) {
			toplevel := m.declare(t, test.module)
			code, said := m.to(t, toplevel, "switch")
			assert.Equal(t, code, 0, said)
			m.must(t, "systemctl is-active "+test.unit)
			assert.Equal(t, m.must(t, "systemctl is-system-running --wait"), "running")
			m.must(t, test.then)
		})
	}

	// Its database is on another machine, which is not there. The switch is done
	// before that shows, as on NixOS: finding out is for the verdict.
	m.to(t, m.declare(t, "operator/forge.nix"), "switch")
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		said := m.must(t, "journalctl -u forgejo.service -o cat")
		if strings.Contains(said, "the database at db.example.org:5432 does not answer") &&
			strings.Contains(said, "Failed with result") {
			return poll.Success()
		}
		return poll.Continue("%s", said)
	}, poll.WithTimeout(2*time.Minute), poll.WithDelay(500*time.Millisecond))
}

func TestSitesAreServedByName(t *testing.T) {
	m := bootMachine(t, guest.Container, 80)
	code, said := m.to(t, m.declare(t, "dev/local.nix"), "switch")
	assert.Equal(t, code, 0, said)
	status, body := m.get(t, "box.example.org", "/")
	assert.Equal(t, status, http.StatusOK)
	assert.Check(t, is.Contains(body, "It works"))
	status, _ = m.get(t, "box.example.org", "/../../etc/passwd")
	assert.Equal(t, status, http.StatusNotFound)

	// Another site in its place reloads the server, which keeps its process.
	main := m.must(t, "systemctl show --value -p MainPID nginx.service")
	code, said = m.to(t, m.declare(t, "operator/web.nix"), "switch")
	assert.Equal(t, code, 0, said)
	assert.Check(t, is.Contains(said, "reloading the following units: nginx.service"))
	assert.Equal(t, m.must(t, "systemctl show --value -p MainPID nginx.service"), main)
	_, body = m.get(t, "www.example.org", "/")
	assert.Check(t, is.Contains(body, "<h1>Services</h1>"))

	// Requests go on to a forge on the same machine, and nowhere for a stranger.
	toplevel := m.install(t, `{ lib, ... }: {
  services.forgejo.enable = true;
  services.forgejo.settings.server.HTTP_ADDR = "127.0.0.1";
  services.nginx = {
    enable = true;
    virtualHosts."git.example.org".locations."/".proxyPass = "http://127.0.0.1:3000";
    virtualHosts."_" = { default = true; locations."/".return = "404"; };
  };
}`)
	code, said = m.to(t, toplevel, "switch")
	assert.Equal(t, code, 0, said)
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		status, body := m.get(t, "git.example.org", "/api/healthz")
		if status == http.StatusOK && strings.Contains(body, `"status":"pass"`) {
			return poll.Success()
		}
		return poll.Continue("%d %s", status, body)
	}, poll.WithTimeout(2*time.Minute))
	status, _ = m.get(t, "other.example.org", "/")
	assert.Equal(t, status, http.StatusNotFound)
}

func TestPortInUseFailsTheWebServer(t *testing.T) {
	m := bootMachine(t, guest.Container)
	m.must(t, `systemd-run -q --unit=squatter busybox nc -ll -p 80 -e busybox true
until busybox nc -w 1 127.0.0.1 80 </dev/null; do sleep 0.1; done`)
	// Its start ends when it has failed, and it is not started anew meanwhile.
	code, said := m.to(t, m.install(t, `{ lib, ... }: {
  services.nginx.enable = true;
  systemd.services.nginx.serviceConfig = { Type = lib.mkForce "notify"; RestartSec = lib.mkForce 1000; };
}`), "switch")
	assert.Equal(t, code, 4)
	assert.Check(t, is.Contains(said, "warning: the following units failed: nginx.service\n"))
}
