//go:build unix

package operate

import "syscall"

// ownGroup keeps a Ctrl-C at the terminal from the children: they are ended in order.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
