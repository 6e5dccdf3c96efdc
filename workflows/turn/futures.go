package turn

import (
	"slices"

	"go.temporal.io/sdk/workflow"
)

// Futures are what a coroutine waits for. A selector of the SDK holds every future that it was
// given, and with it the result of a call, for as long as it is used; Futures drops those that have
// ended. The zero value waits for nothing.
type Futures struct {
	selector workflow.Selector
	// open is in the order in which the futures were added, and has up to as many that have ended.
	open  []*pending
	ended int
}

// pending is a future and what follows it; the zero value is one that has ended.
type pending struct {
	future workflow.Future
	then   func(workflow.Future)
}

// Add adds a future. Wait calls then when it is ready.
func (f *Futures) Add(future workflow.Future, then func(workflow.Future)) {
	f.open = append(f.open, &pending{future, then})
	if f.selector != nil {
		f.watch(f.open[len(f.open)-1])
	}
}

// watch adds a future to the selector.
func (f *Futures) watch(p *pending) {
	f.selector.AddFuture(p.future, func(ready workflow.Future) {
		then := p.then
		*p = pending{}
		f.ended++
		then(ready)
	})
}

// Wait waits for one of the futures, the first one that is ready, and calls what follows it. A
// single one is waited for without a selector, which a run that waits for long would keep.
func (f *Futures) Wait(ctx workflow.Context) {
	if f.selector == nil && len(f.open) == 1 && f.ended == 0 {
		p := f.open[0]
		_ = p.future.Get(ctx, nil) // what follows reads it
		f.open = nil
		p.then(p.future)
		return
	}
	if f.selector == nil || 2*f.ended >= len(f.open) {
		f.open = slices.DeleteFunc(f.open, func(p *pending) bool { return p.then == nil })
		f.selector, f.ended = workflow.NewSelector(ctx), 0
		for _, p := range f.open {
			f.watch(p)
		}
	}
	f.selector.Select(ctx)
}
