package remote

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"
)

// How a command reaches the machine.
//
// The login shell, whatever it is, gets one short line that every shell reads
// alike: a program, an option, and one word in single quotes that holds none of
// the characters that any of them treats specially there. The line makes sh
// print a token and then read the rest, script and arguments, from its input.
// So there is no limit of a command line's length, nothing of a script shows in
// a process list, and whatever a shell prints of its own accord comes before the
// token and is cut.
//
// The input stays the lease of the command, too. It is a sequence of frames, a
// line with a length and then as many bytes; a frame of length 0 ends the
// command's own input, but the stream goes on until the command has ended. When
// it ends earlier, because we stopped, or contact was lost, then the command is
// asked to stop (TERM to its process group), and killed when its grace is over.
// sshd does nothing of the kind: it closes the pipes and lets the process run,
// and OpenSSH 9.2 refuses the protocol's signal requests for root ("requires
// privilege separation"). A process that leaves the group (setsid, a systemd unit) goes on.

// newToken is a word that no output contains by chance.
func newToken() string { return "slipway-" + strings.ToLower(rand.Text()) }

// boot reads one frame and becomes what it says. Beside the token it prints its
// process group. A truncated frame is a syntax error, and nothing of it is run,
// because every frame is one { … }. No newline, single quote, backslash or
// exclamation mark may stand here: csh and fish would treat them specially.
func boot(token string) string {
	return "g=;{ read -r a b c d g s r </proc/$$/stat;} 2>/dev/null;" +
		"echo " + token + " $g;echo " + token + " $g >&2;" +
		"read -r n&&t=$(dd bs=$n count=1 iflag=fullblock 2>/dev/null)&&eval \"$t\""
}

// commandLine is what the login shell gets.
func commandLine(token string) string { return "sh -c '" + boot(token) + "'" }

// elevate is the frame that goes on as root. The session's leader is handed
// over, because sudo may start a session of its own. Who we are is read from the
// kernel (proc(5), the effective one of the Uid line): no session pays for "id".
func elevate(token string) string {
	return `{
while read -r a b n r; do [ "$a" != Uid: ] || break; done </proc/self/status
if [ "$n" = 0 ]; then
` + boot(token) + `
else exec sudo -n -- sh -c ` + quote(boot(token)) + ` sh "$s"
fi
}`
}

// wrapper is the frame that runs the script under the lease. watched adds an
// eye on the connection's server process, for commands with input of their own:
// when such a command does not read on, the end of the lease is stuck behind
// what it has not read. Files are let go by exec alone: dash keeps a copy of what
// a redirected function call puts aside, and a copy of a pipe keeps it open.
func wrapper(script string, args []string, grace time.Duration, watched bool) string {
	var set strings.Builder
	for _, arg := range args {
		set.WriteString(" " + quote(arg))
	}
	watch := ""
	if watched {
		watch = "watch &"
	}
	seconds := max(1, int((grace+time.Second-1)/time.Second))
	return fmt.Sprintf(`{
exec 3<&0 4>&2 </dev/null 2>/dev/null
trap : TERM
told=
s=${1:-$s}
read -r a b c p r </proc/"$s"/stat
give_up() {
	kill -TERM 0
	i=0
	while [ $i -lt %d ]; do sleep 1; i=$((i+1)); done
	kill -KILL 0
}
watch() {
	exec >/dev/null
	while sleep 2; do
		read -r a b c now r </proc/"$s"/stat || exit
		[ "$now" = "$p" ] || give_up
	done
}
lease() {
	exec <&3 3<&- 4>&-
	trap "" TERM HUP
	%s
	read -r self r </proc/self/stat
	echo "$self $!"
	while read -r n; do
		case $n in
		0) exec >/dev/null ;;
		*) dd bs="$n" count=1 iflag=fullblock || exec >/dev/null ;;
		esac
	done
	give_up
}
lease | {
	exec 3<&-
	trap "told=yes" TERM
	read -r lease watch || exit 143
	(
		exec 2>&4 4>&-
		trap - TERM
		[ -z "$told" ] || exit 143
		unset a b c d g i n p r s t told lease watch
		unset -f give_up watch lease
		set --%s
		eval %s
	)
	status=$?
	kill -KILL $lease $watch
	exit $status
}
}`, seconds, watch, set.String(), quote(script))
}

// killer is the script that ends a process group from another session: $1 is
// the group, $2 the seconds that it has.
const killer = `kill -TERM -"$1" || exit 0
i=0
while [ $i -lt "$2" ]; do
	kill -0 -"$1" || exit 0
	sleep 1
	i=$((i+1))
done
kill -KILL -"$1"`

// quote makes one word of a text, for sh.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
