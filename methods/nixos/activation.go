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
	Said       Said   // what the program said
	Half       bool   // it died after it had begun, as the lists that it leaves show
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
	case s.Half:
		return report.Fail(what, fmt.Errorf("the switch program died half-way (exit code %d)", s.Code),
			"its output above says where; run it again: a switch can be repeated")
	case s.lockHeld():
		return busySwitch(what)
	case s.Code == rebootNeeded && !s.Said.Began:
		return &report.Fault{
			Code: report.RebootNeeded, What: what, Why: errors.New("it needs a reboot: its init interface differs (exit code 100)"),
			Hint: "the new system is the default at the next boot; reboot the machine",
		}
	case s.Untouched(toplevel):
		why := fmt.Errorf("the switch program refused (exit code %d); nothing was changed", s.Code)
		if !arrived {
			why = fmt.Errorf("the switch program refused (exit code %d); the old system runs on", s.Code)
		}
		return report.Refuse(what, why, "its output above says why")
	case s.Code == switchRefused:
		return report.Fail(what, errors.New("the switch program failed half-way (exit code 1)"), "its output above says where; run it again")
	case s.Code == unitsFailed && s.Said.Activation:
		return report.Fail(what, errors.New("the activation script failed, and units did too (exit code 4)"), "its output above names the part that failed")
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

// lockHeld tells whether another switch was under way: the number alone is also
// that of a call that has to be tried again (EAGAIN), whenever that was.
func (s Switched) lockHeld() bool {
	return s.exited() && s.Code == lockHeld && s.Said.Locked && !s.Said.Began
}

// Untouched tells whether a switch that failed left the machine alone, so that
// nothing is pending: it said something, but of no change, and left none undone.
// Where its output is lost, only a refusal that left the system before is one.
func (s Switched) Untouched(toplevel string) bool {
	switch {
	case !s.exited() || s.Half || s.Said.Began:
		return false
	case s.Code == switchRefused && s.Current != toplevel, s.lockHeld():
		return true
	case s.Code == switched, s.Code == unitsFailed, s.Code == rebootNeeded, s.Code >= crashed:
		return false
	}
	return s.Said.Something
}

// Exit codes of a commit that are our own.
const (
	profileFailed SwitchCode = 70 // the profile can't be set
	otherBoots    SwitchCode = 71 // the boot loader boots another system all the same
)

// CommitErr judges how it ended to make a system the default at boot.
func (s Switched) CommitErr() error {
	const what = "make the new system the default at boot"
	const hint = "the new system runs, but the machine would boot the one before; its output above says more; run it again"
	switch {
	case !s.exited():
		return report.Fail(what, fmt.Errorf("it was ended: %s", s.Result), hint)
	case s.Code == switched:
		return nil
	case s.lockHeld():
		return busySwitch(what)
	case s.Said.Refused:
		return report.Fail(what, fmt.Errorf("%s (exit code %d)", s.Said.refusal(), s.Code), "the new system runs, but the machine would boot the one before; its output above says why it refuses")
	case s.Code == profileFailed:
		return report.Fail(what, errors.New("the system profile can't be set"), hint)
	case s.Code == otherBoots:
		return report.Fail(what, errors.New("its program ended well, but systemd-boot boots another system"),
			"look at loader/loader.conf and loader/entries of its partition, and at boot.loader.systemd-boot.configurationLimit")
	case s.Said.BootLoader:
		return report.Fail(what, fmt.Errorf("the boot loader can't be installed (exit code %d)", s.Code), hint)
	}
	return report.Fail(what, fmt.Errorf("the switch program failed (exit code %d)", s.Code), hint)
}
