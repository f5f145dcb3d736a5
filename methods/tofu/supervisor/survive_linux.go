package supervisor

import (
	"os"

	"golang.org/x/sys/unix"
)

// init undoes what terraform-exec asked of the kernel: to kill us with the
// program. That is an attribute of the first thread, and only here is it certain
// that we run in it.
func init() {
	if called(os.Args) {
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	}
}
