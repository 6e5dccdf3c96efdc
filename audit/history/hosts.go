package history

import (
	"github.com/switchyard/switchyard/api"
	historypb "go.temporal.io/api/history/v1"
)

// holds are what a run has asked for of instances of stateful tools. A hold is no call and has no record, but its failure
// is why calls of its tool failed: history shows that they were cancelled, or not that they were wanted at all.
type hosts struct {
	// tools are those of the holds that are open, by the event that scheduled them.
	tools map[int64]string
	// faults are why the last hold of a tool failed.
	faults map[string]*api.Error
}

func newHosts() hosts {
	return hosts{tools: map[int64]string{}, faults: map[string]*api.Error{}}
}

// resume takes over what the execution before has carried.
func (h hosts) resume(continued []api.InstanceState) {
	for _, c := range continued {
		if c.Lost {
			h.faults[c.Tool] = api.InstanceLost(c.Tool)
		}
	}
}

// held reads the start of a hold.
func (d *Deriver) hosted(e *historypb.HistoryEvent) error {
	var request api.HostInstanceRequest
	if err := d.decodeEvent(e, "hold request", e.GetActivityTaskScheduledEventAttributes().GetInput(), &request); err != nil {
		return err
	}
	d.hosts.tools[e.GetEventId()] = request.Tool
	delete(d.hosts.faults, request.Tool)
	return nil
}

// holdFailed takes the failure of a hold; false if it is none that the event tells of. An instance that is made anew leaves
// its calls waiting.
func (d *Deriver) hostFailed(scheduled int64, f api.ActivityFailure) bool {
	tool, ok := d.hosts.tools[scheduled]
	if !ok {
		return false
	}
	delete(d.hosts.tools, scheduled)
	t := d.tools[tool]
	if fault, lost := f.InstanceHostError(t); fault != nil && (!lost || t.OnLoss != api.OnLossRecreate) {
		d.hosts.faults[tool] = fault
	}
	return true
}

// callError returns why a call failed: a cancelled one of which the instance had failed was cancelled for that.
func (d *Deriver) callError(tool string, route api.Route, f api.ActivityFailure) *api.Error {
	if fault := d.hosts.faults[tool]; fault != nil && f.Cancelled {
		return fault
	}
	return f.CallError(d.tools[tool], route)
}

// lost returns why a call that was admitted and not scheduled failed, where that is because its instance was lost.
func (d *Deriver) lost(w *wantedCall) *api.Error {
	if fault := d.hosts.faults[w.Tool]; w.decision != nil && fault != nil && fault.Type == api.ErrWorkerLost {
		return fault
	}
	return nil
}
