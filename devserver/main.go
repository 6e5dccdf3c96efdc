// Command devserver is a Temporal server for one machine: server, SQLite store and Web UI in one
// process, tuned for many short activities and with the search attributes of Switchyard registered.
//
// It prints one line of JSON on standard output once everything answers; all else goes to standard
// error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// The exit codes of the process.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	// Libraries inside the server and the UI write to os.Stdout when something goes wrong. Programs
	// that start us read that stream for the ready line, so everyone but us is sent to standard
	// error.
	stdout := os.Stdout
	os.Stdout = os.Stderr
	nameUser()
	os.Exit(run(os.Args[1:], stdout, os.Stderr))
}

// run serves until a signal or the end of the watched parent, and returns the exit code: 0 after a
// clean end, 1 when the server could not start, run or stop, 2 for flags that make no sense.
func run(args []string, stdout, stderr io.Writer) int {
	began := time.Now()
	cfg, err := parseConfig(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage())
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "devserver: %v\nSee 'devserver --help'.\n", err)
		return exitUsage
	}
	if err := serve(cfg, began, stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "devserver: %v\n", err)
		return exitFailed
	}
	return exitDone
}

// serve starts everything, announces it, waits for a reason to end, and takes everything down
// again.
func serve(cfg *settings, began time.Time, stdout, stderr io.Writer) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A program that reads our output and is killed must not take us along by SIGPIPE before we
	// have ended cleanly.
	signal.Ignore(syscall.SIGPIPE)
	ctx, parentGone := withParent(ctx, cfg.parentPID)
	defer func() {
		if parentGone() {
			fmt.Fprintf(stderr, "devserver: stopped because process %d (--parent-pid) has exited\n",
				cfg.parentPID)
		}
	}()

	srv, err := startServer(ctx, cfg)
	if ctx.Err() != nil && srv == nil {
		return nil // asked to end before it was up: as good an end as any other
	}
	if err != nil {
		return err
	}
	if err := announce(srv, time.Since(began), stdout, stderr); err != nil {
		return errors.Join(err, srv.stop())
	}
	<-ctx.Done()
	stop() // from here on a second signal ends the process at once
	return srv.stop()
}
