package history

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	historypb "go.temporal.io/api/history/v1"
)

// wantedCalls are the calls that the run has decided to make and has neither scheduled nor refused,
// by ID.
type wantedCalls map[string]*wantedCall

type wantedCall struct {
	api.Call
	order int
	// decision is set once the call is admitted.
	decision *api.AdmissionDecision
}

func (w wantedCalls) add(calls ...api.Call) {
	for i, c := range calls {
		w[c.ID] = &wantedCall{Call: c, order: i}
	}
}

// take removes and returns the call with that ID. An unknown call is returned with its ID alone.
func (w wantedCalls) take(id string) *wantedCall {
	c := w[id]
	if c == nil {
		return &wantedCall{Call: api.Call{ID: id}}
	}
	delete(w, id)
	return c
}

// inOrder returns the calls in the order in which they were added.
func (w wantedCalls) inOrder() []*wantedCall {
	return slices.SortedFunc(maps.Values(w),
		func(a, b *wantedCall) int { return cmp.Compare(a.order, b.order) })
}

// admission is what the run decided about its calls before it made them.
type admission struct {
	run    *run
	wanted wantedCalls
}

// readPinned reads the local activity that pins the tools of the run.
func (ad *admission) readPinned(_ *historypb.HistoryEvent, pinned api.Packed[api.Pinned]) {
	ad.pin(pinned.Value)
}

// pin takes the tools of the run. The calls of a plan and a direct call exist from here on, unless
// the run cannot start.
func (ad *admission) pin(pinned api.Pinned) {
	s := &ad.run.summary
	s.Tools = append(s.Tools, ad.pinTools(pinned.Catalog.Tools)...)
	s.DescendantTools = append(s.DescendantTools, ad.pinTools(pinned.DescendantTools)...)
	if len(pinned.Problems) > 0 {
		return
	}
	if b := ad.run.input.Beginning; b != nil && ad.run.input.State == nil {
		ad.run.turn = b.Turn
		ad.wanted.add(b.Calls...)
	}
	if plan := ad.run.input.Plan; plan != nil {
		for i, c := range plan.Value.Calls {
			ad.wanted[c.ID] = &wantedCall{
				Call: api.Call{
					ID:        c.ID,
					Tool:      c.Tool,
					Arguments: string(c.Arguments),
					Priority:  c.Priority,
				},
				order: i,
			}
		}
		ad.run.input.Plan = nil
	}
	if call := ad.run.input.Call; call != nil {
		c := *call
		if c.ID == "" {
			c.ID = api.TurnCallID(1, 1)
		}
		ad.wanted.add(c)
	}
}

// pinTools keeps pinned tools for the calls of the run.
func (ad *admission) pinTools(tools []api.Tool) (pinned []PinnedTool) {
	for _, t := range tools {
		if transport := findTransport(t); transport != "" {
			ad.run.transports[t.Name] = transport
		}
		t.Spec = nil // large and not needed
		ad.run.tools[t.Name] = t
		pinned = append(pinned, PinnedTool{Name: t.Name, Version: t.Version, Digest: t.Digest,
			Lane: t.Lane, Access: t.Access, Effect: t.Effect})
	}
	return pinned
}

// findTransport returns how the MCP server of a tool is reached; empty for other tools.
func findTransport(t api.Tool) string {
	var spec struct {
		Entry struct {
			Type string   `json:"type"`
			Argv []string `json:"argv"`
		} `json:"entry"`
	}
	switch err := json.Unmarshal(t.Spec, &spec); {
	case err != nil || spec.Entry.Type != "mcp":
		return ""
	case len(spec.Entry.Argv) > 0:
		return api.TransportStdio
	}
	return api.TransportHTTP
}

// findMessage returns the MCP message of a call: of the client that asked for it, else of this run
// to the server of its tool.
func (ad *admission) findMessage(id, tool string) *api.MCPMessage {
	if m := ad.run.submitted.requests[id].MCP; m != nil {
		return m
	}
	if transport := ad.run.transports[tool]; transport != "" {
		return &api.MCPMessage{Transport: transport}
	}
	return nil
}

// readDecisions reads admission decisions. A refused call is over.
func (ad *admission) readDecisions(e *historypb.HistoryEvent, decisions []api.AdmissionDecision) {
	for _, v := range decisions {
		c := api.Call{
			ID: v.ID, Tool: v.Tool, Arguments: string(v.Arguments), CallPurpose: v.CallPurpose,
		}
		if c.OfRun() {
			ad.wanted.add(c)
		}
		w := ad.wanted[v.ID]
		if v.Error != nil {
			ad.refuse(e, ad.wanted.take(v.ID), v)
			continue
		}
		if v.Result != nil {
			ad.override(e, ad.wanted.take(v.ID), v)
			continue
		}
		if w != nil {
			w.decision = &v
			if v.Approval != nil {
				ad.run.approvals.request(e, w, *v.Approval)
			}
		}
	}
}

// refuse ends a call that never ran.
func (ad *admission) refuse(e *historypb.HistoryEvent, w *wantedCall, v api.AdmissionDecision) {
	r := ad.newUnscheduled(w)
	r.Notes = v.Notes
	r = ad.addDecision(r, v, []byte(w.Arguments))
	r.Status, r.Error = api.CallRefused, v.Error
	ad.run.summary.Usage.Calls++
	ad.run.calls.end(e, r)
}

// abandon ends the calls that the run wanted and never scheduled, because it was cancelled or
// reached a limit.
func (ad *admission) abandon(e *historypb.HistoryEvent, reason string) {
	ad.run.calls.endWaiting(e)
	if len(ad.wanted) == 0 {
		return
	}
	for _, w := range ad.wanted.inOrder() {
		r := ad.newUnscheduled(w)
		r.Status, r.Error = api.CallCancelled, api.Errorf(api.ErrCancelled, "%s", reason)
		r.Error.Phase = r.Phase
		ad.run.summary.Usage.Calls++
		ad.run.calls.end(e, r)
	}
	clear(ad.wanted)
}

// addDecision adds to the record of a call what its admission decision says, except for whether and
// where it runs. written are the arguments as the caller wrote them.
func (ad *admission) addDecision(r api.Record, v api.AdmissionDecision,
	written json.RawMessage) api.Record {
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = written
	}
	r.EstimatedTokens, r.ExpectedTokens = v.Tokens+v.ExpectedTokens, v.ExpectedTokens
	r.Hooks, r.DryRun = v.Hooks, v.DryRun
	r.Policies, r.Labels, r.Sources = v.Policies, v.Labels, v.Sources
	r.Plan = callview.RedactPlan(v.Plan, callview.ArgumentMask(ad.run.tools[r.Tool]), arguments)
	return r
}

// newUnscheduled returns the record of a call before it is scheduled.
func (ad *admission) newUnscheduled(w *wantedCall) api.Record {
	r := ad.ofRun(ad.record(w.ID, w.Tool, []byte(w.Arguments)), w.Call)
	r.Priority = lanerules.CallPriority(w.Call,
		lanerules.RunPriority(ad.run.input.Priority, int(ad.run.level)), ad.run.tools[w.Tool])
	r.Lane, r.Phase = ad.run.tools[w.Tool].Lane, api.PhasePreValidation
	if v := w.decision; v != nil {
		r.Phase, r.Notes = api.PhasePreExecution, v.Notes
		r = ad.addDecision(r, *v, []byte(w.Arguments))
		if len(v.Arguments) > 0 {
			r.Arguments = ad.run.shown(w.Tool, v.Arguments)
		}
	}
	return r
}

// record returns the record of a call with what is known before its admission decision: its tool,
// its arguments and its run.
func (ad *admission) record(id, tool string, arguments json.RawMessage) api.Record {
	t := ad.run.tools[tool]
	return api.Record{
		CallID:       id,
		Tool:         tool,
		Version:      t.Version,
		Digest:       t.Digest,
		Arguments:    ad.run.shown(tool, arguments),
		Status:       api.CallRunning,
		Turn:         ad.run.turn,
		Caller:       ad.run.submitted.requester(id),
		Conversation: ad.run.summary.Conversation,
		Run:          ad.run.summary.Run,
		WorkflowID:   ad.run.workflowID,
		Parent:       ad.run.parent(),
		Path:         api.CallPath(ad.run.parent(), id),
		Approval:     ad.run.approvals.decided[id],
		Trace:        ad.run.submitted.requests[id].Trace,
		MCP:          ad.findMessage(id, tool),
	}
}

// ofRun completes the record of a call with a purpose. Other records stay as they are.
func (ad *admission) ofRun(r api.Record, c api.Call) api.Record {
	r.Purpose, r.TargetCallID = c.Purpose, c.TargetCallID
	if c.TargetCallID == "" {
		return r
	}
	r.Caller = ad.run.submitted.requester(c.TargetCallID)
	r.Parent = api.CallPath(ad.run.parent(), c.TargetCallID)
	r.Path = api.CallPath(r.Parent, r.CallID)
	return r
}

// override ends a call that never ran because a hook answered it or because the run is a dry run.
func (ad *admission) override(e *historypb.HistoryEvent, w *wantedCall, v api.AdmissionDecision) {
	r := ad.newUnscheduled(w)
	if len(v.Arguments) > 0 {
		r.Arguments = ad.run.shown(w.Tool, v.Arguments)
	}
	r = withResult(r, *v.Result)
	r.Phase = api.PhasePreExecution
	r = ad.addDecision(r, v, []byte(w.Arguments))
	ad.run.summary.Usage.Calls++
	ad.run.calls.end(e, r)
}
