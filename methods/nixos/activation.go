package nixos

import (
	"errors"
	"fmt"

	"fediversity.eu/slipway/targets/report"
)

// SwitchCode is the exit code of switch-to-configuration. It is a small
// protocol, not a yes or no (nixpkgs, switch-to-configuration-ng).
type SwitchCode int

// What the codes mean.
const (
	switched         SwitchCode = 0
	switchRefused    SwitchCode = 1   // usage, a check, the boot loader; mostly nothing done
	activationFailed SwitchCode = 2   // the activation script; units were handled all the same
	unitsFailed      SwitchCode = 4   // some unit, user unit or reload
	lockHeld         SwitchCode = 11  // another switch is under way
	rebootNeeded     SwitchCode = 100 // other init interface; only the boot entry was written
	crashed          SwitchCode = 101 // half-way
)

// Switched is how a switch ended.
type Switched struct {
	Code       SwitchCode
	Result     string // as systemd calls it: "success", "exit-code", "signal"
	Current    string // toplevel that runs now
	Generation int    // of the profile now
}

func busySwitch(what string) error {
	return &report.Fault{
		Code: report.Busy, What: what, Why: errors.New("another switch is under way on the machine (exit code 11)"),
		Hint: "try again when it has ended",
	}
}

// Err judges how a switch ended, its units aside: nil for a switch that put the
// new system in place, well or with failed units, which the verdict is about.
func (s Switched) Err(toplevel string) error {
	const what = "switch to the new system"
	arrived := s.Current == toplevel
	switch {
	case !s.exited():
		return report.Fail(what, fmt.Errorf("the switch program was ended: %s", s.Result), "run it again: a switch can be repeated")
	case s.Code == lockHeld:
		return busySwitch(what)
	case s.Code == rebootNeeded:
		return &report.Fault{
			Code: report.RebootNeeded, What: what, Why: errors.New("it needs a reboot: its init interface differs (exit code 100)"),
			Hint: "the new system is the default at the next boot; reboot the machine",
		}
	case s.Code == switchRefused && !arrived:
		return report.Refuse(what, errors.New("the switch program refused (exit code 1); the old system runs on"), "its output above says why")
	case s.Code == switchRefused:
		return report.Fail(what, errors.New("the switch program failed half-way (exit code 1)"), "its output above says where; run it again")
	case s.Code == activationFailed:
		return report.Fail(what, errors.New("the activation script failed (exit code 2)"), "its output above names the part that failed")
	case s.Code == crashed:
		return report.Fail(what, errors.New("the switch program crashed half-way (exit code 101)"), "run it again: a switch can be repeated")
	case s.Code != switched && s.Code != unitsFailed:
		return report.Fail(what, fmt.Errorf("the switch program ended with exit code %d", s.Code), "its output above says more; run it again")
	case !arrived:
		return report.Fail(what, fmt.Errorf("it ended with exit code %d, but %q runs", s.Code, s.Current), "run it again")
	}
	return nil
}

// exited tells whether the code is an exit code: the number of a signal looks
// the same.
func (s Switched) exited() bool {
	return s.Result != "signal" && s.Result != "core-dump" && s.Result != "timeout"
}

// Untouched tells whether a switch that failed left the running system alone,
// so that the profile must not stay at a system that never ran.
func (s Switched) Untouched(toplevel string) bool {
	return s.exited() && (s.Code == lockHeld || s.Code == switchRefused && s.Current != toplevel)
}

// profileFailed is the exit code of a commit whose profile can't be set.
const profileFailed SwitchCode = 70

// CommitErr judges how it ended to make a system the default at boot.
func (s Switched) CommitErr() error {
	const what = "make the new system the default at boot"
	const hint = "the new system runs, but the machine would boot the one before; its output above says more; run it again"
	switch {
	case !s.exited():
		return report.Fail(what, fmt.Errorf("it was ended: %s", s.Result), hint)
	case s.Code == switched:
		return nil
	case s.Code == lockHeld:
		return busySwitch(what)
	case s.Code == profileFailed:
		return report.Fail(what, errors.New("the system profile can't be set"), hint)
	}
	return report.Fail(what, fmt.Errorf("the boot loader can't be installed (exit code %d)", s.Code), hint)
}
