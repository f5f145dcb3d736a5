// Package disposition gives the children of a test the signals as a test expects
// them: what the process that started the tests ignores, as nohup does SIGHUP and a
// shell without job control SIGINT, is handed down from process to process, and a
// shell can't even trap it (POSIX, "trap").
package disposition

import (
	"os"
	"os/signal"
	"syscall"
)

// Default makes signals that were ignored when this process started have their
// default effect in what it starts. A TestMain calls it. For the process itself
// nothing changes: what it ignored it now hears and throws away.
func Default() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			// A signal that is handled, unlike one that is ignored, has its default
			// effect again after exec(2).
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
