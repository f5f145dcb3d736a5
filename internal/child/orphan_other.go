//go:build !linux

package child

import "syscall"

// orphaned does nothing: other kernels tell no child that its parent died.
func orphaned(*syscall.SysProcAttr, syscall.Signal) {}
