//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc/status"
)

// A server whose process was stopped for some seconds, as in a paused container, does not answer
// the requests of that time with a missing namespace, which clients take as final. It starts runs
// again.
func TestSuspendedServer_StillKnowsItsNamespace(t *testing.T) {
	t.Parallel()
	const callers, times = 100, 3
	p := start(t, "--port", "0", "--headless")
	ctx, cancel := context.WithCancel(withPatience(t))
	agent, err := converter.GetDefaultDataConverter().ToPayload("suspended")
	if err != nil {
		t.Fatal(err)
	}
	attributes := &commonpb.SearchAttributes{
		IndexedFields: map[string]*commonpb.Payload{"SwitchyardAgent": agent}}
	var all sync.WaitGroup
	var started atomic.Int64
	progress := make(chan struct{}, 1)
	for caller := range callers {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("run-%d-%d", caller, i)
				_, err := p.workflow.StartWorkflowExecution(ctx, startRequest(id, attributes))
				if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](
					serviceerror.FromStatus(status.Convert(err))); missing {
					t.Errorf("the start of %s was rejected: %v", id, err)
				}
				if err == nil {
					started.Add(1)
					select {
					case progress <- struct{}{}:
					default:
					}
				}
			}
		})
	}
	awaitStarts := func() {
		for enough := started.Load() + callers; started.Load() < enough; {
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatalf("only %d of %d runs have started", started.Load(), enough)
			}
		}
	}
	for range times {
		awaitStarts()
		p.send(t, syscall.SIGSTOP)
		<-time.After(4 * time.Second) // the fault itself: longer than the server waits for its store
		p.send(t, syscall.SIGCONT)
	}
	startRun(ctx, t, p, "afterwards", attributes)
	awaitStarts()
	cancel()
	all.Wait()
	p.endCleanly(t)
}

func (p *process) send(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
