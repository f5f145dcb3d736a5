package guest

import (
	"fmt"
	"io"
	"time"

	_ "embed"
)

// The guardians of guests, see package guardian.
var (
	//go:embed guardian-vm.sh
	guardVM string
	//go:embed guardian-container.sh
	guardContainer string
)

// environment is all that a guest's tools are told.
func environment() []string {
	return []string{
		"HOME=/", "LC_ALL=C.UTF-8", "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
}

// say writes a line for a person; nobody to read it is no error.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, format+"\n", args...)
}

// took tells how long a step took.
func took(log io.Writer, what string, started time.Time) {
	say(log, "%s in %.1f s", what, time.Since(started).Seconds())
}

// withConsole adds to an error what the machine in dir said.
func withConsole(err error, dir string) error {
	if text := console(dir); text != "" {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return err
}
