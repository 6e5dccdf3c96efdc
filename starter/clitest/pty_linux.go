package clitest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// open returns both sides of a new terminal: programs use terminal, and main has what they write.
func open(t *testing.T) (main, terminal *os.File) {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals:", err)
	}
	t.Cleanup(func() { main.Close() })
	if err := unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return main, terminal
}

// PTY returns a terminal of a size, and a function that closes it and returns all output.
func PTY(t *testing.T, width, height int) (terminal *os.File, written func() string) {
	t.Helper()
	main, terminal := open(t)
	Resize(t, terminal, width, height)
	output := make(chan string, 1)
	go func() {
		data, err := io.ReadAll(main)
		if err != nil && !errors.Is(err, syscall.EIO) { // EIO: the terminal is closed
			t.Error(err)
		}
		output <- string(data)
	}()
	return terminal, func() string {
		terminal.Close() // closed already by a test that takes it away
		return <-output
	}
}

// Resize changes the size of a terminal. It sends no signal.
func Resize(t *testing.T, terminal *os.File, width, height int) {
	t.Helper()
	size := &unix.Winsize{Col: uint16(width), Row: uint16(height)}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
}
