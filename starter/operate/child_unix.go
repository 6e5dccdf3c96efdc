//go:build unix

package operate

import "syscall"

// ownGroup shields children from a terminal's Ctrl-C, so that they are stopped in order.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
