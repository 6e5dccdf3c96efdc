package operate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/switchyard/switchyard/starter/cli"
)

// workerSteady is how long a restarted worker must have been ready for its next exit to be followed
// by another restart.
const workerSteady = 5 * time.Second

// keep restarts the worker whenever it exits on its own, and reports that to tell. Runs continue on
// the new worker. It returns nil when ctx ends. It fails if the server has exited, or if a
// restarted worker exits before it is ready or soon after. While keep runs, it owns s.worker.
func (s *devStack) keep(ctx context.Context, tell io.Writer) error {
	var readyAgain time.Time
	gateway := s.gateway.whenEnded()
	for {
		select {
		case <-gateway:
			fmt.Fprintf(tell, "starter: the gateway ended, and nothing serves its addresses: %s\n",
				s.gateway.lastLog())
			gateway = nil
			continue
		case <-ctx.Done():
			return nil
		case <-s.server.ended:
			return s.server.failure("exited")
		case <-s.worker.ended:
		}
		if time.Since(readyAgain) < workerSteady {
			return s.worker.failure(
				fmt.Sprintf("exited again within %s of being ready", workerSteady))
		}
		fmt.Fprintf(tell, "starter: the worker exited (%s) and is restarted; runs continue\n",
			s.worker.cmd.ProcessState)
		if err := s.replaceWorker(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		readyAgain = time.Now()
	}
}

// replaceWorker restarts the exited worker and returns when it is ready.
func (s *devStack) replaceWorker(ctx context.Context) error {
	worker, err := s.worker.relaunch()
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot restart the worker: %w", err)
	}
	s.worker = worker
	return worker.ready(ctx, &workerReady{})
}

// whileKept calls use while it keeps the worker running. If the stack is lost it cancels use's
// context with cli.ErrStackLost and returns the reason.
func (s *devStack) whileKept(ctx context.Context, tell io.Writer, use func(context.Context)) error {
	using, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	keeping, release := context.WithCancel(ctx)
	kept := make(chan error, 1)
	go func() {
		err := s.keep(keeping, tell)
		if err != nil {
			lose(cli.ErrStackLost)
		}
		kept <- err
	}()
	use(using)
	release()
	return <-kept
}
