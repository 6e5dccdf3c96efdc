// Command starter starts, follows and inspects runs of agents, plans and single calls on a Temporal
// server.
package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

func main() {
	interrupts := make(chan os.Signal, 3)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(starter.Run(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout,
		Err: os.Stderr, Interrupts: interrupts, Exit: os.Exit,
		Program: typedAs(os.Args[0])}))
}

// typedAs is how the program can be called again: by its name where the PATH leads to it, else by
// the path that was typed.
func typedAs(path string) string {
	name := filepath.Base(path)
	if found, err := exec.LookPath(name); err == nil && (found == path || path == name) {
		return name
	}
	return display.ShellWord(path)
}
