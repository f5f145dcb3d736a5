package nixos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fediversity.eu/slipway/methods/remote"
	"fediversity.eu/slipway/targets/report"
)

// Machine is what a NixOS machine says of itself, at one moment.
type Machine struct {
	NixOS      bool
	OS         string // ID of os-release
	Hardware   string // as uname writes it: "x86_64"
	Current    string // toplevel that runs
	Profile    string // toplevel of the system profile, the default at the next boot
	Generation int    // number of the profile's generation; 0 means none
	BootID     string
	Nix        string // version
	NixWhy     string // what nix-store said instead
	FreeBytes  int64  // on the file system of /nix/store; 0 means not known
	Tools      map[string]bool
	Switching  []string  // units of switches that are not collected yet
	Guards     []string  // units that would bring the machine back
	Deaf       bool      // its systemd did not answer
	Pending    string    // toplevel of a switch that did not end well
	Proved     string    // toplevel that was last made the default at boot by a run
	Mark       Mark      // whose it is
	Reverted   *Reverted // that it went back by itself, and nobody was told yet
	Reboot     []string  // what of the running system only a reboot brings in: "kernel"
}

const (
	systemProfile = "/nix/var/nix/profiles/system"
	// pendingFile holds the toplevel of a switch from its start until it was
	// seen to end well: the link of the current system moves in the middle of a
	// switch and proves nothing. It lies in /run: a boot makes whole.
	pendingFile = "/run/slipway/switching"
)

const sayScript = `
say() { printf '%s=%s\n' "$1" "$2"; }`

// bootScript prints what only a boot changes.
const bootScript = `
say boot "$(cat /proc/sys/kernel/random/boot_id)"
if [ -e /run/booted-system ]; then
  for part in kernel initrd kernel-modules; do
    [ "$(readlink -f /run/booted-system/$part)" = "$(readlink -f /run/current-system/$part)" ] || say reboot $part
  done
fi`

const inspectScript = sayScript + `
[ -e /etc/NIXOS ] && say nixos 1
say os "$(. /etc/os-release 2>/dev/null; echo "$ID")"
say hardware "$(uname -m)"
say current "$(readlink -f /run/current-system)"
say profile "$(readlink -f ` + systemProfile + `)"
say generation "$(readlink ` + systemProfile + `)"
nix=$(nix-store --version 2>&1) && say nix "$nix" || say nix-why "$(printf %s "$nix" | tail -n 1)"
command -v nix-store >/dev/null 2>&1 && say tool nix-store
say free "$(df -Pk /nix/store 2>/dev/null | tail -n 1)"
for tool in zstd gzip flock systemctl systemd-run; do command -v $tool >/dev/null 2>&1 && say tool $tool; done
list() { systemctl list-units --all --plain --no-legend '` + switchPrefix + `*' '` + commitPrefix + `*' '` + guardPrefix + `*' 2>/dev/null; }
n=0
until units=$(list); do # a manager that is just being replaced says nothing
  n=$((n+1))
  [ $n -lt 20 ] && command -v systemctl >/dev/null 2>&1 || { say deaf 1; break; }
  sleep 0.5
done
printf '%s\n' "$units" |
  while read -r unit rest; do
    case $unit in
    '') ;;
    ` + guardPrefix + `*) say guard "$unit" ;;
    *) say switching "$unit" ;;
    esac
  done
say pending "$(cat ` + pendingFile + ` 2>/dev/null)"
say proved "$(cat /var/lib/slipway/proved 2>/dev/null)"
sed 's/^/mark-/' ` + markFile + ` 2>/dev/null
sed 's/^/reverted-/' /var/lib/slipway/reverted 2>/dev/null` + bootScript + `
:`

// Inspect asks a machine about itself.
func Inspect(ctx context.Context, conn *remote.Conn) (Machine, error) {
	out, err := output(ctx, conn, "inspect the machine", inspectScript)
	if err != nil {
		return Machine{}, err
	}
	m := parseMachine(string(out))
	if m.Deaf && m.NixOS {
		return m, &report.Fault{
			Code: report.Unknown, What: "inspect the machine", Why: errors.New("its systemd does not answer"),
			Hint: "look on its console what systemctl says; nothing was changed by this look",
		}
	}
	return m, nil
}

// Booting asks a machine that was inspected before only what a boot is about:
// which one this is, and what another one would bring in.
func (m Machine) Booting(ctx context.Context, conn *remote.Conn) (Machine, error) {
	out, err := output(ctx, conn, "look what needs a reboot", sayScript+bootScript+"\n:")
	if err != nil {
		return m, err
	}
	now := parseMachine(string(out))
	m.BootID, m.Reboot = now.BootID, now.Reboot
	return m, nil
}

func parseMachine(text string) Machine {
	m := Machine{Tools: map[string]bool{}}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), "=")
		switch key {
		case "nixos":
			m.NixOS = true
		case "os":
			m.OS = value
		case "hardware":
			m.Hardware = value
		case "current":
			m.Current = storePath(value)
		case "profile":
			m.Profile = storePath(value)
		case "generation":
			m.Generation = generationOf(value)
		case "boot":
			m.BootID = value
		case "nix":
			m.Nix = value
		case "nix-why":
			m.NixWhy = value
		case "free":
			m.FreeBytes = freeOf(value)
		case "tool":
			m.Tools[value] = true
		case "switching":
			m.Switching = append(m.Switching, value)
		case "guard":
			m.Guards = append(m.Guards, value)
		case "pending":
			m.Pending = storePath(value)
		case "deaf":
			m.Deaf = true
		case "proved":
			m.Proved = storePath(value)
		case "reboot":
			m.Reboot = append(m.Reboot, value)
		default:
			if what, ok := strings.CutPrefix(key, "reverted-"); ok {
				m.reverted(what, value)
			} else if what, ok := strings.CutPrefix(key, "mark-"); ok {
				m.Mark.read(what, value)
			}
		}
	}
	return m
}

func (m *Machine) reverted(key, value string) {
	if m.Reverted == nil {
		m.Reverted = &Reverted{}
	}
	switch key {
	case "from":
		m.Reverted.From = value
	case "to":
		m.Reverted.To = value
	case "why":
		m.Reverted.Why = value
	case "cause":
		m.Reverted.Slow = value == "slow"
	case "at":
		m.Reverted.At = value
	case "code":
		code, err := strconv.Atoi(value)
		if err != nil {
			code = int(crashed)
		}
		m.Reverted.Code = SwitchCode(code)
	}
}

// storePath is empty for what lies elsewhere: a link that leads nowhere reads
// as its own name.
func storePath(value string) string {
	if strings.HasPrefix(value, "/nix/store/") {
		return value
	}
	return ""
}

// generationOf reads the number in "system-12-link".
func generationOf(link string) int {
	number, ok := strings.CutPrefix(link[strings.LastIndexByte(link, '/')+1:], "system-")
	if !ok {
		return 0
	}
	number, ok = strings.CutSuffix(number, "-link")
	n, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0
	}
	return n
}

// freeOf reads the fourth column of a line of "df -Pk" (POSIX.1-2017, df), the
// available space in KiB.
func freeOf(line string) int64 {
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0
	}
	n, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// Runs tells whether the machine runs a system, boots it, and was brought to it
// by a switch that ended well.
func (m Machine) Runs(toplevel string) bool {
	return m.Current == toplevel && m.Profile == toplevel && m.Pending == ""
}

// Back is the system to which a machine goes back from another: what it runs
// where that was proved, and else what it boots, which a run makes of what it
// proved only. Where there is no such system, it is the one that runs: proved is
// false then, but whoever asks was let in by it.
func (m Machine) Back(from string) (toplevel string, proved bool) {
	settled := m.Pending == "" && (m.Current == m.Proved || m.Current == m.Profile || m.Profile == "")
	if m.Current != from && settled || m.Profile == "" || m.Profile == from {
		return m.Current, settled && m.Current != from
	}
	return m.Profile, true
}

// hardware gives the machine hardware names on which a platform of Nix runs.
var hardware = map[string][]string{
	"x86_64-linux":  {"x86_64"},
	"i686-linux":    {"i686", "x86_64"},
	"aarch64-linux": {"aarch64"},
	"armv7l-linux":  {"armv7l", "aarch64"},
	"riscv64-linux": {"riscv64"},
}

// Accept tells whether a system of a platform can be deployed to the machine.
// It names everything that stands in the way at once.
func (m Machine) Accept(platform string) error {
	var faults []error
	if !m.NixOS && m.OS != "nixos" {
		faults = append(faults, fmt.Errorf("it runs %q, not NixOS (no /etc/NIXOS, no ID=nixos in /etc/os-release)", m.OS))
	}
	hint := "check the machine's address, or install NixOS on it first; nothing was changed"
	switch {
	case m.Nix != "":
	case m.Tools["nix-store"]:
		faults = append(faults, fmt.Errorf("its nix-store does not run: %s", cmp.Or(m.NixWhy, "it says nothing")))
		if m.NixOS {
			hint = "look at the machine: is its disk full (df /nix/store /), or read-only? nothing was changed"
		}
	default:
		faults = append(faults, errors.New("it has no nix-store on the PATH of an ssh session"))
	}
	for _, tool := range []string{"systemctl", "systemd-run", "flock"} {
		if !m.Tools[tool] {
			faults = append(faults, fmt.Errorf("it has no %s on the PATH of an ssh session", tool))
		}
	}
	if !runsOn(platform, m.Hardware) {
		faults = append(faults, fmt.Errorf("its hardware is %q, the system is for %s", m.Hardware, platform))
	}
	if err := errors.Join(faults...); err != nil {
		return report.Refuse("accept the machine as a target", err, hint)
	}
	return nil
}

func runsOn(platform, name string) bool {
	if slices.Contains(hardware[platform], name) {
		return true
	}
	return strings.HasPrefix(platform, name+"-")
}
