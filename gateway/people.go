package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/value/display"
)

// replyName is the name of the one question of a result, if the tool gives it none.
const replyName = "reply"

// askName returns the name of what a call asks.
func (c *openCall) askName() string {
	if q := c.status.Question; q != nil && c.status.State == api.SessionCallAwaitsAnswer {
		return cmp.Or(q.Name, replyName)
	}
	return replyName
}

// early returns the answer to what a call asks that came with the request itself, without
// requestState: to a question of its tool, by the name that the tool gives it, and once. Answers
// about approvals need the state, which says what the user has seen.
func (c *openCall) early() *mcp.ElicitResult {
	q := c.status.Question
	if q == nil || q.Name == "" || c.status.State != api.SessionCallAwaitsAnswer {
		return nil
	}
	res, _ := c.answers[q.Name].(*mcp.ElicitResult)
	delete(c.answers, q.Name)
	return res
}

// asked is the result of tools/call that asks the client's user.
type asked struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	InputRequests mcp.InputRequestMap `json:"inputRequests"`
	RequestState  string              `json:"requestState,omitempty"`
}

// askID returns what a call asks: the id of a question, or the digest of an approval that its
// caller may give; empty for nothing that the caller may be asked.
func (c *openCall) askID() string {
	switch s := c.status; {
	case s.State == api.SessionCallAwaitsAnswer && s.Question != nil:
		return s.Question.ID
	case s.State == api.SessionCallAwaitsApproval && s.Approval != nil && c.mayApprove():
		return s.Approval.Digest
	}
	return ""
}

// mayApprove reports whether the caller of a call may approve it by its text.
func (c *openCall) mayApprove() bool {
	need := c.status.Approval
	d := c.denial(need)
	d.Kind = api.DecisionApprove
	return people.RefuseDecision(need.ApprovalNeed, d, c.caller) == nil
}

// hasQuestion reports whether the client can be asked something that it was not asked before.
func (c *openCall) hasQuestion() bool {
	ask := c.askID()
	return ask != "" && c.asks() && !c.asked[ask] && elicitation(c.status) != nil
}

// ask asks the client's user what the call waits for. In the revision without sessions the result
// is the question; in older ones the client is asked now, and the result is nil unless the call has
// ended.
func (c *openCall) ask() (mcp.Result, error) {
	for c.hasQuestion() {
		ask, question := c.askID(), elicitation(c.status)
		if c.asked == nil {
			c.asked = map[string]bool{}
		}
		c.asked[ask] = true
		res := c.early()
		var err error
		switch {
		case res != nil:
			err = c.reply(ask, res)
		case c.modern():
			return c.askByResult(ask, question)
		default:
			err = c.elicit(ask, question)
		}
		if err != nil {
			return nil, err
		}
		if err := c.await(c.config.Direct); err != nil {
			return nil, err
		}
		if c.status.State == api.SessionCallEnded {
			return c.readResult()
		}
	}
	return nil, nil
}

// askByResult returns a question as the result of the call.
func (c *openCall) askByResult(ask string, question *mcp.ElicitParams) (mcp.Result,
	error) {
	if c.requestDigest == "" { // the request cannot be repeated with the answer
		return nil, nil
	}
	state, err := c.state.sign(askState{Session: c.session.key, Call: c.id,
		Execution: c.execution, Ask: ask, Caller: callerDigest(c.caller.ID),
		Request: c.requestDigest, Until: time.Now().Add(stateFor)})
	if err != nil {
		return nil, err
	}
	return &asked{ResultType: resultInputRequired, RequestState: state,
		InputRequests: mcp.InputRequestMap{c.askName(): question}}, nil
}

// elicit asks the client's user and applies the answer. It returns when the call no longer asks,
// too, because somebody else has answered.
func (c *openCall) elicit(ask string, question *mcp.ElicitParams) error {
	ctx, cancel := c.within(c.ctx, c.config.Wait-time.Since(c.began))
	defer cancel()
	answered := make(chan *mcp.ElicitResult, 1)
	go func() {
		defer close(answered)
		defer panics.Gateway.Contain(ctx, c.config.Logger, nil)
		res, err := c.request.session.Elicit(ctx, question)
		if err == nil {
			answered <- res
		}
	}()
	for pause := firstPoll; ; pause = min(2*pause, lastPoll) {
		select {
		case res := <-answered:
			if res == nil { // the client cannot or will not ask: others can answer
				return nil
			}
			return c.reply(ask, res)
		case <-time.After(pause):
		}
		status, err := c.config.Sessions.Status(ctx, c.session, c.id, c.execution)
		if err == nil {
			c.status = status
		}
		if ctx.Err() != nil || c.askID() != ask {
			return nil
		}
	}
}

// serveReply serves a call that is repeated with the answer to a question.
func (r *request) serveReply(p *mcp.CallToolParamsRaw) (mcp.Result, error) {
	digest := requestDigest(p)
	state, ok := r.state.read(p.RequestState, r.caller.ID, digest, time.Now())
	if !ok {
		return nil, invalid("requestState is not that of a question about this call")
	}
	s := r.run
	s.key = state.Session
	c := &openCall{request: r, session: s, id: state.Call, execution: state.Execution,
		began: time.Now(), requestDigest: digest}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.tool, _ = r.config.Catalog().Get(toolName(p))
	if c.status.State == api.SessionCallUnknown {
		return nil, invalid("the call of requestState is no longer known")
	}
	if c.askID() == state.Ask {
		res, _ := p.InputResponses[c.askName()].(*mcp.ElicitResult)
		if res == nil { // the answer is missing: ask again
			return c.askByResult(state.Ask, elicitation(c.status))
		}
		if err := c.reply(state.Ask, res); err != nil {
			return nil, err
		}
		c.asked = map[string]bool{state.Ask: true}
	}
	if err := c.await(r.config.Direct); err != nil {
		return nil, err
	}
	return c.follow()
}

// toolName returns the tool that a request calls, also by call_tool.
func toolName(p *mcp.CallToolParamsRaw) string {
	if p.Name == callTool {
		name, _, _ := inner(p.Arguments)
		return name
	}
	return p.Name
}

// requestDigest identifies the tool and arguments of a request.
func requestDigest(p *mcp.CallToolParamsRaw) string {
	return api.Digest([]byte(p.Name + "\n" + string(p.Arguments)))
}

// reply gives a session the answer of the client's user. A user who cancels the dialog has not
// answered: the question stays open. An answer that the session refuses is an error of the client,
// unless the call no longer asks: then somebody else has answered, or the client has sent the
// answer twice.
func (c *openCall) reply(ask string, res *mcp.ElicitResult) error {
	if res.Action == "cancel" {
		return nil
	}
	send, err := c.answer(ask, res)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, cancelWithin)
	defer cancel()
	err = send(ctx)
	for pause := firstPoll; isBusy(err) && sleep(ctx, pause); pause = min(2*pause, lastPoll) {
		err = send(ctx)
	}
	refusal, ok := errors.AsType[*api.ReplyError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return c.unavailable(err)
	}
	if err := c.load(); err != nil || c.askID() != ask {
		return err
	}
	return invalid("the answer was rejected: " + refusal.Error())
}

// isBusy reports whether an answer was refused because another one is being checked.
func isBusy(err error) bool {
	refusal, ok := errors.AsType[*api.ReplyError](err)
	return ok && refusal.Type == api.ReplyBusy
}

// answer returns a function that gives the session the answer. Its error is that of an answer which
// is not one of the protocol, or not one of the form.
func (c *openCall) answer(ask string, res *mcp.ElicitResult) (func(context.Context) error, error) {
	if res.Action != "accept" && res.Action != "decline" {
		return nil, invalid(fmt.Sprintf("the action %q is unknown: use accept, decline or cancel",
			display.Shorten(res.Action, 100)))
	}
	run := c.session.RunID()
	if a := c.status.Approval; a == nil || a.Digest != ask {
		r := decodeReply(c, ask, res)
		return func(ctx context.Context) error { return c.config.Sessions.Answer(ctx, run, r) }, nil
	}
	d, err := decodeDecision(c, c.status.Approval, res)
	return func(ctx context.Context) error { return c.config.Sessions.Decide(ctx, run, d) }, err
}

// denial returns the decision of a caller to deny its own call.
func (c *openCall) denial(a *api.Approval) api.Decision {
	return api.Decision{Call: a.Call, Digest: a.Digest, Kind: api.DecisionDeny, ByText: true,
		By: c.caller.ID, Auth: c.caller.Auth, Claims: c.caller.Claims, Roles: c.http.roles}
}

// decodeDecision returns the decision of a caller about its own call.
func decodeDecision(c *openCall, a *api.Approval, res *mcp.ElicitResult) (api.Decision, error) {
	d := c.denial(a)
	if res.Action == "accept" {
		switch res.Content["decision"] {
		case string(api.DecisionApprove):
			d.Kind = api.DecisionApprove
		case string(api.DecisionDeny):
		default:
			return d, invalid("the answer has no decision: use approve or deny")
		}
	}
	d.Reason, _ = res.Content["reason"].(string)
	return d, nil
}

// decodeReply returns the answer to a question.
func decodeReply(c *openCall, question string, res *mcp.ElicitResult) api.Reply {
	r := api.Reply{Question: question, By: c.caller.ID, Auth: c.caller.Auth}
	if res.Action != "accept" {
		r.Decline = true
		return r
	}
	var value any = res.Content
	if needsWrapping(c.status.Question.Schema) {
		value = res.Content[answerName]
	}
	r.Value, _ = json.Marshal(value) // it was decoded from JSON
	return r
}
