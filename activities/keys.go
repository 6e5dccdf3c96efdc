package activities

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
	// openWithin bounds the opening of a key, well under the time that admission has.
	openWithin = 10 * time.Second
	// maxOpening bounds how many keys are opened at a time, maxOpened of how many it is remembered.
	maxOpening = 32
	maxOpened  = 16384
)

// keySignals is what keys need of a client.Client.
type keySignals interface {
	SignalWithStartWorkflow(ctx context.Context, id, signal string, argument any,
		options client.StartWorkflowOptions,
		workflow any, inputs ...any) (client.WorkflowRun, error)
}

// keys has keys of keyed lanes opened: it tells the lane's KeysWorkflow of them, which it starts
// where there is none. What it opened lately it does not open again.
type keys struct {
	client  keySignals
	places  chan struct{}
	mu      sync.Mutex
	openers map[api.OpenRequest]*opening
}

// opening is a key that is being opened or was.
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

// open has a key opened, unless that began less than fresh ago and has not failed. It does not wait
// for it.
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

// wait returns when the key is open; the error is why it cannot be opened, or that of ctx.
func (o *opening) wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tell tells the lane's KeysWorkflow of a key. It belongs to no single caller: several may wait for
// it.
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
		TaskQueue: r.Base, StaticSummary: "open keys of the lane " + r.Lane}
	_, err := k.client.SignalWithStartWorkflow(ctx, options.ID, api.OpenKeySignal,
		api.KeyOrder{Open: r.Key}, options,
		api.LaneKeysWorkflow, api.KeysInput{Lane: r.Lane})
	if err != nil {
		return fmt.Errorf("open the key %s of the lane %s: %w", r.Key, r.Lane, err)
	}
	return nil
}
