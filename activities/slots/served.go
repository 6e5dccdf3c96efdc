package slots

import (
	"context"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/converter"
)

// ServedQueue describes the dedicated worker of one task queue of a lane with a limit.
type ServedQueue struct {
	// Queue is the task queue, Lane the lane's name.
	Queue, Lane string
	// Keyed is set for the queues of a keyed lane.
	Keyed bool
	// Counted is set if the calls count for the worker's limit over all lanes: those of a lane with
	// a wait queue are in flight while they wait.
	Counted bool
	// WorkerSlots issues the permits that polling requires.
	WorkerSlots *WorkerSlots
	// Rate bounds how many calls start per second, over all workers; zero means no bound.
	Rate float64
	// Tool executes the calls, as the dynamic activity; Model is ModelActivity.
	Tool  func(context.Context, converter.EncodedValues) (api.Result, error)
	Model func(context.Context, api.ModelRequest) (api.ModelResponse, error)
	// Failed receives the error that stops the worker. It does not block.
	Failed func(error)
}

// ServeQueue starts a worker for one task queue of a lane. stop ends its polling and returns when
// its calls have ended or the worker's stop timeout has passed.
type ServeQueue func(ServedQueue) (stop func(), err error)
