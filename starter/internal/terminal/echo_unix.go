//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd || solaris

package terminal

import (
	"os"

	"github.com/charmbracelet/x/termios"
)

// hideControlEcho disables the terminal's echo of ^C, which would corrupt the drawing, and returns
// a function that restores it. It changes no other mode, so a killed process leaves the terminal
// usable.
func hideControlEcho(terminal *os.File) (undo func()) {
	set := func(on bool) error {
		mode, err := termios.GetTermios(int(terminal.Fd()))
		if err != nil {
			return err
		}
		return termios.SetTermios(int(terminal.Fd()), uint32(mode.Ispeed), uint32(mode.Ospeed), nil,
			nil, nil, nil,
			map[termios.L]bool{termios.ECHOCTL: on})
	}
	if set(false) != nil {
		return func() {} // no terminal: nothing echoes
	}
	return func() { _ = set(true) } // a closed terminal needs no mode
}
