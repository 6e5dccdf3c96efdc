//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris)

package terminal

import "os"

func hideControlEcho(*os.File) (undo func()) { return func() {} }
