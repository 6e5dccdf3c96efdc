package admission

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

const (
	// openWithin bounds the opening of a key; it is well below the timeout of admission.
	openWithin = 10 * time.Second
	// maxOpening bounds how many keys are opened concurrently, maxOpened how many are remembered.
	maxOpening = 32
	maxOpened  = 16384
)

// keySignals is the part of client.Client that keys needs.
type keySignals interface {
	SignalWithStartWorkflow(ctx context.Context, id, signal string, argument any,
		options client.StartWorkflowOptions,
		workflow any, inputs ...any) (client.WorkflowRun, error)
}

// keys opens keys of keyed lanes: it signals the lane's KeysWorkflow and starts it if necessary. It
// skips keys that it opened recently.
type keys struct {
	client  keySignals
	places  chan struct{}
	mu      sync.Mutex
	openers map[api.OpenRequest]*opening
}

// opening is the opening of a key, running or finished.
type opening struct {
	began time.Time
	done  chan struct{}
	// err is set before done is closed.
	err error
}

func newKeys(c keySignals) *keys {
	return &keys{client: c, places: make(chan struct{}, maxOpening),
		openers: map[api.OpenRequest]*opening{}}
}

// open opens a key, unless an opening began less than fresh ago and has not failed. It does not
// wait for the result.
func (k *keys) open(r api.OpenRequest, fresh time.Duration) *opening {
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.openers[r]; ok && time.Since(o.began) < fresh && !o.failed() {
		return o
	}
	if len(k.openers) >= maxOpened {
		maps.DeleteFunc(k.openers, func(_ api.OpenRequest, o *opening) bool { return o.over() })
	}
	o := &opening{began: time.Now(), done: make(chan struct{})}
	k.openers[r] = o
	go func() {
		defer close(o.done)
		o.err = k.tell(r)
	}()
	return o
}

func (o *opening) over() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

func (o *opening) failed() bool { return o.over() && o.err != nil }

// wait returns when the key is open. It returns an error if the key cannot be opened, or the error
// of ctx.
func (o *opening) wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell signals a key to the lane's KeysWorkflow. It does not use a caller's context, because
// several callers may wait for it.
func (k *keys) tell(r api.OpenRequest) error {
	ctx, cancel := context.WithTimeout(context.Background(), openWithin)
	defer cancel()
	select {
	case k.places <- struct{}{}:
		defer func() { <-k.places }()
	case <-ctx.Done():
		return fmt.Errorf("open the key %s of the lane %s: %d others are being opened and do not end",
			r.Key, r.Lane, maxOpening)
	}
	options := client.StartWorkflowOptions{ID: api.KeysWorkflowID(r.Base, r.Lane),
		TaskQueue: r.Base, StaticSummary: "open keys of the lane " + r.Lane,
		WorkflowTaskTimeout: api.WorkflowTaskTimeout}
	_, err := k.client.SignalWithStartWorkflow(ctx, options.ID, api.OpenKeySignal,
		api.KeyOrder{Open: r.Key}, options,
		api.LaneKeysWorkflow, api.KeysInput{Lane: r.Lane})
	if err != nil {
		return fmt.Errorf("open the key %s of the lane %s: %w", r.Key, r.Lane, err)
	}
	return nil
}
