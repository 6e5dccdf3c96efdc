//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	for caller := range callers {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("run-%d-%d", caller, i)
				_, err := p.workflow.StartWorkflowExecution(ctx, startRequest(id, attributes))
				if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](
					serviceerror.FromStatus(status.Convert(err))); missing {
					t.Errorf("the start of %s was rejected: %v", id, err)
				}
			}
		})
	}
	for range times {
		<-time.After(300 * time.Millisecond)
		p.send(t, syscall.SIGSTOP)
		<-time.After(4 * time.Second) // longer than the server waits for its store
		p.send(t, syscall.SIGCONT)
	}
	startRun(ctx, t, p, "afterwards", attributes)
	<-time.After(time.Second)
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
