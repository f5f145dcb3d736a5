package verdict

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// steps are the exit statuses that systemd itself gives where the process was
// not yet the program: what could not be set up (systemd.exec(5), "Process Exit
// Codes").
var steps = map[int]string{
	200: "its working directory can't be entered",
	201: "its nice level can't be set",
	202: "its file descriptors can't be handed over",
	203: "its program is missing or can't be executed",
	204: "memory ran out",
	205: "a resource limit can't be set",
	206: "its OOM score can't be set",
	207: "its signal mask can't be set",
	208: "its standard input can't be set up",
	209: "its standard output can't be set up",
	210: "its root directory can't be entered",
	211: "its I/O priority can't be set",
	212: "its timer slack can't be set",
	213: "its secure bits can't be set",
	214: "its CPU scheduling can't be set",
	215: "its CPU affinity can't be set",
	216: "its group is unknown or can't be taken",
	217: "its user is unknown or can't be taken",
	218: "its capabilities can't be set",
	219: "its control group can't be set up",
	220: "its session can't be set up",
	221: "its execution can't be confirmed",
	222: "its standard error can't be set up",
	224: "PAM refuses its session",
	225: "its network name space can't be set up",
	226: "its name spaces can't be set up: a path that it binds or protects may be missing",
	227: "no new privileges can't be set",
	228: "its system call filter can't be set",
	229: "its SELinux context can't be set",
	230: "its personality can't be set",
	231: "its AppArmor profile can't be set",
	232: "its address families can't be restricted",
	233: "its runtime directory can't be made",
	235: "the owner of its socket can't be set",
	236: "its SMACK label can't be set",
	237: "its keyring can't be set up",
	238: "its state directory can't be made",
	239: "its cache directory can't be made",
	240: "its log directory can't be made",
	241: "its configuration directory can't be made",
	242: "its NUMA policy can't be set",
	243: "its credentials can't be set up",
	245: "its BPF filter can't be set up",
}

// results are those of systemd's results that need a word of explanation
// (systemd.exec(5), $SERVICE_RESULT, and those of other kinds of unit).
var results = map[string]string{
	"protocol":                "it ended, or went to the background, without saying that it is ready",
	"resources":               "something that it is declared to use is missing",
	"timeout":                 "it was not ready, or not gone, in time",
	"watchdog":                "it gave no sign of life in time",
	"oom-kill":                "memory ran out",
	"start-limit-hit":         "it was started too often",
	"service-start-limit-hit": "its service was started too often",
	"unit-start-limit-hit":    "its unit was started too often",
	"trigger-limit-hit":       "it was triggered too often",
}

// Codes of how a process ended (waitid(2), CLD_*).
const (
	exited = 1
	killed = 2
	dumped = 3
)

// ending says how the main process ended, or nothing where it ended well or not
// at all.
func (u Unit) ending() string {
	switch u.ExitCode {
	case killed, dumped:
		return "killed by " + signalName(u.ExitStatus)
	case exited:
		if step := steps[u.ExitStatus]; step != "" {
			return fmt.Sprintf("exit status %d: %s", u.ExitStatus, step)
		}
		if u.ExitStatus != 0 {
			return fmt.Sprintf("exit status %d", u.ExitStatus)
		}
	}
	return ""
}

func signalName(number int) string {
	if name := unix.SignalName(unix.Signal(number)); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", number)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// rough is a duration as a person says it.
func rough(d time.Duration) string {
	unit := time.Second
	if d < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	text := d.Round(unit).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = strings.TrimSuffix(text, zero[1:])
		}
	}
	return text
}
