//go:build !unix

package operate

import "syscall"

func ownGroup() *syscall.SysProcAttr { return nil }
