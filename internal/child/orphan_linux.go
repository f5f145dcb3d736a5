package child

import "syscall"

// orphaned has the kernel send a signal to the child when the thread that starts
// it ends (prctl(2), PR_SET_PDEATHSIG).
func orphaned(attr *syscall.SysProcAttr, s syscall.Signal) { attr.Pdeathsig = s }
