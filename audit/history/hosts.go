package history

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/instancerules"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// hosts are the instances of a run. Hosting an instance has no record, but its failure is why calls
// failed: history shows only that they were cancelled or never scheduled.
type hosts struct {
	run *run
	// ends are how the last hosts of instances failed, by the instances' names.
	ends map[string]hostEnd
	// tickets are those of the last uses of the conversation's instances, by the instances' names.
	tickets map[string]string
}

// hostEnd is how an instance ended.
type hostEnd struct {
	failure failures.ActivityFailure
	// lost is why the instance was lost; empty if it could not be created.
	lost string
	// fixed is why an instance of the conversation could not be created; nil for other instances.
	fixed *api.Error
}

// fault returns the error of a call of tool that waits for the instance.
func (end hostEnd) fault(tool api.Tool) *api.Error {
	if end.lost != "" {
		return failures.InstanceLost(tool, end.lost)
	}
	if end.fixed != nil {
		fault := *end.fixed
		return &fault
	}
	fault, _ := failures.InstanceHostError(end.failure, tool, false) // nothing was lost
	return fault
}

// resume takes over the lost instances of the execution before.
func (h *hosts) resume(continued []api.InstanceState) {
	for _, c := range continued {
		h.tickets[cmp.Or(c.Instance, c.Tool)] = c.Ticket
		if c.Lost != "" {
			h.ends[cmp.Or(c.Instance, c.Tool)] = hostEnd{lost: c.Lost}
		}
	}
}

// scheduled reads that the run asks a worker to host an instance.
func (h *hosts) scheduled(e *historypb.HistoryEvent, a *activity) (*activity, error) {
	var request api.HostInstanceRequest
	input := e.GetActivityTaskScheduledEventAttributes().GetInput()
	if err := h.run.decodeEvent(e, "instance request", input, &request); err != nil {
		return nil, err
	}
	a.host, a.adopts = request.Tool, request.Adopt
	delete(h.ends, request.Name())
	return a, nil
}

func (*hosts) completed(*historypb.HistoryEvent, *activity, *commonpb.Payloads) error { return nil }

// failed keeps why an instance failed. Calls of an instance that is recreated keep waiting.
func (h *hosts) failed(_ *historypb.HistoryEvent, a *activity, f failures.ActivityFailure) {
	t := h.run.tools[a.host]
	if failures.HostNeverStarted(f) && !a.adopts {
		return
	}
	if fault, lost := failures.InstanceHostError(f, t, a.adopts); fault != nil &&
		(lost == "" || t.OnLoss != api.OnLossRecreate) {
		h.ends[cmp.Or(t.Instance, a.host)] = hostEnd{failure: f, lost: lost}
	}
}

// joins are the requests of a run to use an instance of its conversation.
type joins struct{ *hosts }

// scheduled reads that the run asks for the use of an instance.
func (j joins) scheduled(e *historypb.HistoryEvent, a *activity) (*activity, error) {
	var request instancerules.JoinRequest
	input := e.GetActivityTaskScheduledEventAttributes().GetInput()
	if err := j.run.decodeEvent(e, "instance request", input, &request); err != nil {
		return nil, err
	}
	a.host = request.Tool
	delete(j.ends, request.Name())
	j.tickets[request.Name()] = request.User.Ticket
	return a, nil
}

// failed keeps why the run could not use the instance.
func (j joins) failed(_ *historypb.HistoryEvent, a *activity, f failures.ActivityFailure) {
	if t := j.run.tools[a.host]; !f.Cancelled {
		name := cmp.Or(t.Instance, a.host)
		j.ends[name] = hostEnd{fixed: failures.JoinError(f, t, name)}
	}
}

// ended reads what the run was told of an instance of its conversation.
func (h *hosts) ended(e *historypb.HistoryEvent) error {
	var ended instancerules.Ended
	input := e.GetWorkflowExecutionSignaledEventAttributes().GetInput()
	if err := h.run.decodeEvent(e, "end of an instance", input, &ended); err != nil {
		return err
	}
	if fault := ended.Error; fault != nil && (h.tickets[ended.Instance] == ended.Ticket ||
		h.loses(ended)) {
		end := hostEnd{fixed: fault}
		if fault.Type == api.ErrWorkerLost {
			end = hostEnd{lost: fault.Message}
		}
		h.ends[ended.Instance] = end
	}
	return nil
}

// loses reports whether the run lost an instance of whose loss another run was to be told.
func (h *hosts) loses(ended instancerules.Ended) bool {
	for _, t := range h.run.tools {
		if failures.EndsTool(ended, t) {
			return true
		}
	}
	return false
}

// fault returns why the instance of a tool failed; nil if it did not.
func (h *hosts) fault(tool string) *api.Error {
	t := h.run.tools[tool]
	if end, failed := h.ends[cmp.Or(t.Instance, tool)]; failed {
		return end.fault(t)
	}
	return nil
}

// lost returns the error of a call that was not scheduled because the instance of its tool was
// lost; nil if that was not lost.
func (h *hosts) lost(tool string) *api.Error {
	fault := h.fault(tool)
	if fault != nil && fault.Type == api.ErrWorkerLost {
		fault.NotStarted = true
		return fault
	}
	return nil
}
