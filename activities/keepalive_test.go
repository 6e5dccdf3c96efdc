package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// The author of a tool need not send them. A cancelled call that needs time to end sends them too.
func TestTool_SendsHeartbeats(t *testing.T) {
	beats := make(chan struct{}, 100)
	b, compiled := toolBench(t, nil, func(ctx context.Context, _ *toolspecs.Spec,
		_ json.RawMessage) (executor.Answer, error) {
		<-beats
		<-beats
		return executor.Answer{Output: json.RawMessage("1")}, nil
	})
	for _, cancelled := range []bool{false, true} {
		suite := testsuite.WorkflowTestSuite{}
		env := suite.NewTestWorkflowEnvironment()
		env.SetTestTimeout(20 * time.Second)
		env.RegisterDynamicActivity(func(ctx context.Context, in converter.EncodedValues) (any,
			error) {
			ctx, end := context.WithCancelCause(ctx)
			defer end(nil)
			if cancelled {
				end(temporal.NewCanceledError())
			}
			return b.Tool(ctx, in)
		}, activity.DynamicRegisterOptions{})
		env.SetOnActivityHeartbeatListener(func(*activity.Info,
			converter.EncodedValues) {
			beats <- struct{}{}
		})
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			ctx = workflow.WithActivityOptions(ctx,
				workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
					HeartbeatTimeout: 900 * time.Millisecond})
			return workflow.ExecuteActivity(ctx, "probe", executionOf(compiled)).Get(ctx, nil)
		})
		if err := env.GetWorkflowError(); err != nil {
			t.Errorf("cancelled %v: %v", cancelled, err)
		}
	}
}

// A reported progress is in the next heartbeat and all later ones. A report that JSON cannot encode
// is dropped.
func TestProgress_IsInHeartbeats(t *testing.T) {
	beats := make(chan api.Progress, 100)
	message := "pages\uFFFD"
	message += strings.Repeat("é", (maxProgressMessage-len(message))/2)
	b, compiled := toolBench(t, nil, func(ctx context.Context, _ *toolspecs.Spec,
		_ json.RawMessage) (executor.Answer, error) {
		callcontext.ReportProgress(ctx, api.Progress{Done: 1})
		callcontext.ReportProgress(ctx, api.Progress{Done: 37, Total: 100, Message: "pages\xff" +
			strings.Repeat("é", maxProgressMessage)})
		callcontext.ReportProgress(ctx, api.Progress{Done: math.NaN()})
		for range 2 {
			if p := <-beats; p.Done != 37 || p.Total != 100 || p.Message != message {
				return executor.Answer{}, fmt.Errorf("a beat carries %+v", p)
			}
		}
		return executor.Answer{Output: json.RawMessage("1")}, nil
	})
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterDynamicActivity(func(ctx context.Context, in converter.EncodedValues) (any,
		error) {
		return b.Tool(ctx, in)
	}, activity.DynamicRegisterOptions{})
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) {
		var p api.Progress
		if details.HasValues() && details.Get(&p) == nil {
			beats <- p
		}
	})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx,
			workflow.ActivityOptions{StartToCloseTimeout: time.Minute,
				HeartbeatTimeout: 2 * time.Second})
		return workflow.ExecuteActivity(ctx, "probe", executionOf(compiled)).Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
}

// awayServer is a server that does not answer heartbeats until it is back.
type awayServer struct {
	client.Client
	back  atomic.Bool
	beats chan struct{}
}

func (s *awayServer) RecordActivityHeartbeat(ctx context.Context, _ []byte, details ...any) error {
	s.beats <- struct{}{}
	if !s.back.Load() {
		return serviceerror.NewUnavailable("connection refused")
	}
	activity.RecordHeartbeat(ctx, details...)
	return nil
}

// A heartbeat without an answer does not cancel the call. The next one follows soon.
func TestKeepAlive_SurvivesAnOutage(t *testing.T) {
	server := &awayServer{beats: make(chan struct{}, 100)}
	b, compiled := toolBench(t, nil, func(ctx context.Context, _ *toolspecs.Spec,
		_ json.RawMessage) (executor.Answer, error) {
		for range 2 {
			<-server.beats
		}
		server.back.Store(true)
		<-server.beats
		return executor.Answer{Output: json.RawMessage("1")}, ctx.Err()
	})
	b.Activities.config.Client = server
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterDynamicActivity(b.Tool, activity.DynamicRegisterOptions{})
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: time.Minute, HeartbeatTimeout: 6 * time.Second})
		return workflow.ExecuteActivity(ctx, "probe", executionOf(compiled)).Get(ctx, nil)
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
}
