package env

import (
	"errors"
	"os"
)

// Plugins says where the library by which this process serves a provider of OpenTofu is
// to make its next socket, and keeps it from tracing every call on standard error. It can
// be told only by variables, of this process alone: no child gets them.
func Plugins(folder string) error {
	return errors.Join(os.Setenv("TF_LOG_SDK", "off"), os.Setenv("PLUGIN_UNIX_SOCKET_DIR", folder))
}
