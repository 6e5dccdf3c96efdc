package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/process"
	"github.com/switchyard/switchyard/toolspecs"
)

// defaultWithin is the default time for starting and checking a dependency.
const defaultWithin = 10 * time.Second

// checkInterval is the wait between two checks of a started dependency.
const checkInterval = 100 * time.Millisecond

// checkOutput bounds the output of a check, in bytes.
const checkOutput = 64 << 10

// starting prevents concurrent starts of the same dependency: a channel of one token per
// dependency. It is process-wide because dependencies run per machine.
var starting sync.Map

// EnsureDependencies checks in the spec's order that all dependencies of the tool are up. It starts
// those that are down and can be started, and checks them until they are up or their time has
// passed; a started dependency outlives the call and the worker. The programs see the same
// environment as the tool's own. A dependency that stays down gives precondition_failed.
func EnsureDependencies(ctx context.Context, spec *toolspecs.Spec) *api.Error {
	for _, d := range spec.Requires.Dependencies {
		if err := ensure(ctx, d, process.Env(spec.Entry.Common().Env)); err != nil {
			return api.Errorf(api.ErrPreconditionFailed, "%s needs %s, which is not up: %v",
				spec.Name, d.Name, err)
		}
	}
	return nil
}

func ensure(ctx context.Context, d toolspecs.Dependency, env []string) error {
	within := d.Within.Std()
	if within <= 0 {
		within = defaultWithin
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("its time of %s is over",
		within))
	defer cancel()
	err := check(ctx, d, env)
	if err == nil {
		return nil
	}
	if len(d.Start) == 0 {
		return fmt.Errorf("%w; start it and call again, or give the dependency a start command",
			err)
	}
	release, err := acquire(ctx, strings.Join(d.Start, "\x00"))
	if err != nil {
		return err
	}
	defer release()
	// Another call may have started it while this one waited for the token.
	if check(ctx, d, env) == nil {
		return nil
	}
	return start(ctx, d, env)
}

func acquire(ctx context.Context, key string) (release func(), err error) {
	value, _ := starting.LoadOrStore(key, make(chan struct{}, 1))
	token := value.(chan struct{})
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func check(ctx context.Context, d toolspecs.Dependency, env []string) error {
	if len(d.Check) == 0 {
		return errors.New("its check names no program")
	}
	p := program{argv: d.Check, env: env, maxOutput: checkOutput}
	result, err := p.run(ctx)
	if err != nil {
		return fmt.Errorf("its check %q failed: %w", strings.Join(d.Check, " "), err)
	}
	if result.exitCode != 0 {
		return fmt.Errorf("its check %q %s%s", strings.Join(d.Check, " "), result.ending,
			process.QuoteTail(": ", result.stderr))
	}
	return nil
}

// start starts the dependency and waits until its check succeeds. The program runs in its own
// session and shares no pipe with the worker, so that neither ends with the other.
func start(ctx context.Context, d toolspecs.Dependency, env []string) error {
	cmd, err := process.Command(d.Start, "", env)
	if err != nil {
		return process.StartError(d.Start[0], err)
	}
	process.OwnSession(cmd)
	if err := cmd.Start(); err != nil {
		return process.StartError(d.Start[0], err)
	}
	ended := make(chan struct{})
	go func() {
		// Only the check counts, not the exit code: many programs continue in the background.
		_ = cmd.Wait()
		close(ended)
	}()
	tick := time.NewTicker(checkInterval)
	defer tick.Stop()
	var failure error
	for {
		err := check(ctx, d, env)
		if err == nil {
			return nil
		}
		// A check that timed out is less informative than the one before.
		if failure == nil || ctx.Err() == nil {
			failure = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf(
				"%q was started, %s, but %w; start it by hand and look at what it says",
				strings.Join(d.Start, " "), state(cmd, ended), failure)
		}
	}
}

func state(cmd *exec.Cmd, ended <-chan struct{}) string {
	select {
	case <-ended:
		return process.DescribeEnd(cmd)
	default:
		return "still runs"
	}
}
