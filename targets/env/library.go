package env

import "os"

// QuietPlugins keeps the library by which this process serves a provider of
// OpenTofu from tracing every call on standard error. It can be told only by a
// variable, of this process alone: no child gets it.
func QuietPlugins() error { return os.Setenv("TF_LOG_SDK", "off") }
