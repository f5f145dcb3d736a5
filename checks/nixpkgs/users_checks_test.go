//go:build checks

package nixpkgs_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
	"gotest.tools/v3/poll"
)

// lingering is a system with a user whose manager has a unit that works and one
// that has started when its command has ended.
func lingering(linger, command string) string {
	return fmt.Sprintf(`{
  networking.hostName = "box";
  users.users.ann = { isNormalUser = true; linger = %s; };
  systemd.user.services.works = { wantedBy = [ "default.target" ]; script = "exec sleep 1000000"; };
  systemd.user.services.other = {
    wantedBy = [ "default.target" ];
    script = "%s";
    serviceConfig = { Type = "oneshot"; RemainAfterExit = true; };
  };
}`, linger, command)
}

// ofUser asks the user's manager until it answers as wanted.
func (m machine) ofUser(t *testing.T, question, want string) {
	t.Helper()
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if said := m.must(t, "systemctl --user -M ann@ "+question+" 2>&1 || :"); said != want {
			return poll.Continue("%s: %s", question, said)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute), poll.WithDelay(100*time.Millisecond))
}

func TestSwitchReachesTheManagersOfUsers(t *testing.T) { onContainers(t, reachesUsers) }

func reachesUsers(t *testing.T, m machine) {
	t.Helper()
	const failed = "list-units --failed --plain --no-legend --full | cut -d' ' -f1"
	broken := m.install(t, lingering("true", "exit 7"))
	m.switched(t, broken, "switch")
	assert.Equal(t, m.must(t, "id -u ann"), "1000")
	m.ofUser(t, "is-active works.service", "active")
	m.ofUser(t, failed, "other.service")
	m.ofUser(t, "is-system-running", "degraded")
	// The machine's own manager is content with all that.
	assert.Equal(t, m.must(t, "systemctl is-active user@1000.service"), "active")
	assert.Equal(t, m.must(t, "systemctl is-system-running --wait"), "running")
	// Root reaches the user's bus, as it does the system's.
	assert.Equal(t, m.must(t, `printf '\0AUTH EXTERNAL 30\r\n' | timeout 60 systemd-stdio-bridge -p unix:path=/run/user/1000/bus | head -c 2`), "OK")

	m.through(t, m.reboot(t))
	m.ofUser(t, failed, "other.service")

	// What is failed there is not counted, only what was to be done and failed.
	code, said := m.to(t, broken, "switch")
	assert.Equal(t, code, 0)
	assert.Check(t, is.Contains(said, "reloading user units for ann...\n"))
	m.ofUser(t, failed, "other.service")
	well := m.install(t, lingering("true", "true"))
	m.switched(t, well, "switch")
	m.must(t, "systemctl --user -M ann@ start other.service")
	m.ofUser(t, "is-active works.service other.service", "active\nactive")
	m.ofUser(t, failed, "")

	code, said = m.to(t, broken, "switch")
	assert.Equal(t, code, 4)
	for _, line := range []string{
		"stopping the following user units: other.service\n", "starting the following user units: other.service\n",
		"Failed to start user unit other.service\n", "warning: the following user units failed: other.service\n", "warning: user activation for ann failed\n",
	} {
		assert.Check(t, is.Contains(said, line))
	}
	code, said = m.to(t, broken, "switch")
	assert.Equal(t, code, 0, "what is failed there by now is not counted: %s", said)

	// A manager that nobody reaches fails the whole of it.
	m.must(t, "mv /run/user/1000/bus /run/user/1000/elsewhere")
	code, said = m.to(t, well, "switch")
	m.must(t, "mv /run/user/1000/elsewhere /run/user/1000/bus")
	assert.Equal(t, code, 4)
	assert.Check(t, is.Contains(said, "Error: Failed to open dbus connection"))
	assert.Check(t, is.Contains(said, "warning: user activation for ann failed\n"))
	m.switched(t, well, "switch")
	m.must(t, "systemctl --user -M ann@ start other.service")

	m.switched(t, m.install(t, lingering("false", "true")), "switch")
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		if state := m.must(t, "systemctl is-active user@1000.service || :"); state != "inactive" {
			return poll.Continue("the manager is %s", state)
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute))
}
