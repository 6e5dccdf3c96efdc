package history

import (
	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// hosts are the instances of stateful tools. Hosting an instance has no record, but its failure is
// why calls of the tool failed: history shows only that they were cancelled or never scheduled.
type hosts struct {
	run *run
	// faults are why the last instance of a tool failed.
	faults map[string]*api.Error
}

// resume takes over the lost instances of the execution before.
func (h *hosts) resume(continued []api.InstanceState) {
	for _, c := range continued {
		if c.Lost {
			h.faults[c.Tool] = api.InstanceLost(c.Tool)
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
	a.host = request.Tool
	delete(h.faults, request.Tool)
	return a, nil
}

func (*hosts) completed(*historypb.HistoryEvent, *activity, *commonpb.Payloads) error { return nil }

// failed keeps why an instance failed. Calls of an instance that is recreated keep waiting.
func (h *hosts) failed(_ *historypb.HistoryEvent, a *activity, f api.ActivityFailure) {
	t := h.run.tools[a.host]
	if fault, lost := f.InstanceHostError(t); fault != nil &&
		(!lost || t.OnLoss != api.OnLossRecreate) {
		h.faults[a.host] = fault
	}
}

// lost returns the error of a call that was admitted and not scheduled because its instance was
// lost; nil for other calls.
func (h *hosts) lost(w *wantedCall) *api.Error {
	if fault := h.faults[w.Tool]; w.decision != nil && fault != nil &&
		fault.Type == api.ErrWorkerLost {
		return fault
	}
	return nil
}
