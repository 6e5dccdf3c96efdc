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
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc/status"
)

// A server that was suspended, as on a laptop that sleeps, answers the requests it had begun. It
// does not tell their callers that the namespace is missing, which clients take as final.
func TestSuspendedServer_StillKnowsItsNamespace(t *testing.T) {
	t.Parallel()
	const callers, times = 100, 3
	p := start(t, "--port", "0", "--headless")
	ctx, cancel := context.WithCancel(withPatience(t))
	agent, err := converter.GetDefaultDataConverter().ToPayload("suspended")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("run-%d-%d", caller, i)
				_, err := p.workflow.StartWorkflowExecution(ctx,
					&workflowservice.StartWorkflowExecutionRequest{
						Namespace: "default", WorkflowId: id, RequestId: id,
						WorkflowType: &commonpb.WorkflowType{Name: "idle"},
						TaskQueue:    &taskqueuepb.TaskQueue{Name: "nobody"},
						SearchAttributes: &commonpb.SearchAttributes{
							IndexedFields: map[string]*commonpb.Payload{"SwitchyardAgent": agent}},
					})
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
