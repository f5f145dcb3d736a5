package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fediversity.eu/slipway/targets/report"
)

// A socket's path has to fit in so many bytes (unix(7), without the zero at its end).
// Below a folder of Sockets lie those of providers, which call them "plugin" and a
// number of so many digits (hashicorp/go-plugin, serverListener_unix).
const (
	maxSocket = 107
	maxDigits = 10
	socketed  = "slipway-"
	maxRoom   = maxSocket - len("/"+socketed) - maxDigits - len("/plugin") - maxDigits
)

// others are where a folder is made when the one for temporary files won't do, as its
// path is long: a build's, or one of a caller of ours.
var others = []string{"/tmp", "/var/tmp", "/dev/shm"}

// Fits tells whether a provider's socket in a folder has a path that is short enough.
func Fits(folder string) bool { return len(folder)+len("/plugin")+maxDigits <= maxSocket }

// Sockets makes a private folder whose sockets have paths that are short enough. The
// error has exit code 2.
func Sockets() (string, error) { return socketsIn(append([]string{os.TempDir()}, others...)) }

func socketsIn(bases []string) (string, error) {
	var faults []error
	for _, base := range bases {
		folder, err := within(base)
		if err == nil {
			return folder, nil
		}
		faults = append(faults, err)
	}
	return "", &report.Fault{
		Code: report.Usage, What: "make a folder for sockets", Why: errors.Join(faults...),
		Hint: fmt.Sprintf("set TMPDIR to a folder whose path has at most %d bytes and that may be written to", maxRoom),
	}
}

func within(base string) (string, error) {
	base, err := filepath.Abs(base) // OpenTofu is at work in another folder
	if err != nil {
		return "", err
	}
	if len(base) > maxRoom {
		return "", fmt.Errorf("%s: its path has %d bytes, and may have %d, since that of a socket in it may have %d", base, len(base), maxRoom, maxSocket)
	}
	return os.MkdirTemp(base, socketed)
}

// Owner is the folder of Sockets that a socket lies in; of another, the socket itself.
func Owner(socket string) string {
	folder := filepath.Dir(socket)
	if strings.HasPrefix(filepath.Base(folder), socketed) {
		return folder
	}
	return socket
}
