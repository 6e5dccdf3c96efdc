//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris)

package terminal

import "os"

func HideControlEcho(*os.File) (undo func()) { return func() {} }
