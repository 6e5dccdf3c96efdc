package operate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/switchyard/switchyard/starter/internal/cli"
)

// workerSteady is how long a worker that was started again must have been ready, so that its end
// starts one more.
const workerSteady = 5 * time.Second

// keep starts the worker again, and says so in tell, whenever it ends by itself: its runs go on
// there. It returns nil when ctx ends. An error says that the server is gone, or that the worker
// would not stay: it ended before it was ready again, or soon after. While keep runs, s.worker is
// its own.
func (s *devStack) keep(ctx context.Context, tell io.Writer) error {
	var readyAgain time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.server.ended:
			return s.server.failure("ended by itself")
		case <-s.worker.ended:
		}
		if time.Since(readyAgain) < workerSteady {
			return s.worker.failure(
				fmt.Sprintf("was started again, and ended within %s of being ready", workerSteady))
		}
		fmt.Fprintf(tell, "starter: the worker ended by itself (%s) and is started again; runs go on\n",
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

// replaceWorker starts the worker that has ended once more, and returns when it is ready.
func (s *devStack) replaceWorker(ctx context.Context) error {
	worker, err := s.worker.relaunch()
	if err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot restart the worker: %w", err)
	}
	s.worker = worker
	return worker.ready(ctx, &workerReady{})
}

// whileKept calls use, and keeps the worker meanwhile. The context of use ends early, with
// errStackLost, when nothing can go on; the error is then why.
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
