package slots

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

const (
	// followPause is the wait before reading the history of a lane's keys again after an error.
	followPause = 250 * time.Millisecond
	// closePause is the wait before requesting again to close a key.
	closePause = 10 * time.Second
)

// follow serves the open keys, as recorded by the lane's KeysWorkflow, until ctx ends.
func (h *slotGroup) follow(ctx context.Context) {
	for ctx.Err() == nil {
		err := h.followOnce(ctx)
		if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
			err = h.beginKeys(ctx)
		}
		if err == nil {
			continue
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
		}
	}
}

// beginKeys starts the lane's KeysWorkflow unless it is running.
func (h *slotGroup) beginKeys(ctx context.Context) error {
	id := api.KeysWorkflowID(h.request.Base, h.request.Lane.Name)
	_, err := h.config.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: h.request.Base, WorkflowTaskTimeout: api.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		api.LaneKeysWorkflow, api.KeysInput{Lane: h.request.Lane.Name})
	return err
}

// followOnce follows one execution of the workflow to its end. It first reads the existing history,
// so that keys closed before are not served briefly.
func (h *slotGroup) followOnce(ctx context.Context) error {
	id := api.KeysWorkflowID(h.request.Base, h.request.Lane.Name)
	run, err := h.config.Client.DescribeWorkflowExecution(ctx, id, "")
	if err != nil {
		return err
	}
	runID := run.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	status := run.GetWorkflowExecutionInfo().GetStatus()
	if status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return h.beginKeys(ctx)
	}
	open, seen := api.OpenKeys{}, int64(0)
	for _, wait := range []bool{false, true} {
		events := h.config.Client.GetWorkflowHistory(ctx, id, runID, wait,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				return err
			}
			if e.GetEventId() <= seen {
				continue
			}
			seen = e.GetEventId()
			if h.apply(open, e) && wait {
				h.serveKeys(open)
			}
		}
		h.serveKeys(open)
	}
	return nil
}

// apply applies an event to the open keys, and reports whether it concerns them.
func (h *slotGroup) apply(open api.OpenKeys, e *historypb.HistoryEvent) bool {
	if started := e.GetWorkflowExecutionStartedEventAttributes(); started != nil {
		var in api.KeysInput
		if err := h.config.Converter.FromPayloads(started.GetInput(), &in); err != nil {
			h.log.Warn("the open keys of the lane cannot be read", append(h.fields(), "error",
				err)...)
		}
		maps.Copy(open, in.Open)
		return true
	}
	signal := e.GetWorkflowExecutionSignaledEventAttributes()
	if signal.GetSignalName() != api.OpenKeySignal {
		return false
	}
	var o api.KeyOrder
	if err := h.config.Converter.FromPayloads(signal.GetInput(), &o); err != nil {
		h.log.Warn("an order about the lane's keys cannot be read", append(h.fields(), "error",
			err)...)
		return false
	}
	open.Apply(o)
	return true
}

// serveKeys serves exactly the open keys of the group.
func (h *slotGroup) serveKeys(open api.OpenKeys) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.open
	h.open = maps.Clone(open)
	for part, opens := range open {
		if api.KeyGroup(part, h.request.Lane.Holders) != h.request.Group {
			continue
		}
		if q := h.queues[part]; q != nil && opens > before[part] {
			q.expect()
		}
		h.start(part)
	}
	for part, q := range h.queues {
		if _, still := open[part]; still {
			continue
		}
		delete(h.queues, part)
		q.close()
		h.closing[q] = true
		h.closings.Go(func() {
			q.stop(true)
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.closing, q)
			q.count(func(c *api.LaneCounts) { h.counts.Add(*c) })
		})
	}
}

// closeIdle requests to close unused keys.
func (h *slotGroup) closeIdle(ctx context.Context) {
	h.mu.Lock()
	now := time.Now()
	var orders []api.KeyOrder
	for part, q := range h.queues {
		if !h.lane.Keyed() || now.Sub(q.asked) < closePause || !q.idle(h.lane.IdleTimeout.Std(),
			now) {
			continue
		}
		q.asked = now
		orders = append(orders, api.KeyOrder{Close: part, Opens: h.open[part]})
	}
	h.mu.Unlock()
	if len(orders) == 0 {
		return
	}
	go func() {
		id := api.KeysWorkflowID(h.request.Base, h.request.Lane.Name)
		for _, o := range orders {
			// A lost signal is sent again later.
			_ = h.config.Client.SignalWorkflow(ctx, id, "", api.OpenKeySignal, o)
		}
	}()
}
