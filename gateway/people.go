package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// replyName is the name of the one question of a result.
const replyName = "reply"

// asked is the result of tools/call that asks the client's user.
type asked struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	InputRequests mcp.InputRequestMap `json:"inputRequests"`
	RequestState  string              `json:"requestState"`
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

// mayApprove reports whether the caller of a call may approve it: if the toolspec says so, and it
// is the toolspec that asks.
func (c *openCall) mayApprove() bool {
	return c.tool != nil && c.tool.Spec.Approval != nil && c.tool.Spec.Approval.ByCaller &&
		c.status.Approval.Rule == ""
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
		if c.modern() {
			return c.askByResult(ask, question)
		}
		if err := c.elicit(ask, question); err != nil {
			return nil, err
		}
		if err := c.await(c.config.Direct); err != nil {
			return nil, err
		}
		if c.status.State == api.SessionCallEnded {
			return c.ended()
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
	state, err := c.state.sign(askState{Session: c.session.key, Call: c.id, Ask: ask,
		Caller: callerDigest(c.caller.ID), Request: c.requestDigest,
		Until: time.Now().Add(stateFor)})
	if err != nil {
		return nil, err
	}
	return &asked{ResultType: resultInputRequired, RequestState: state,
		InputRequests: mcp.InputRequestMap{replyName: question}}, nil
}

// elicit asks the client's user and applies the answer. It returns when the call no longer asks,
// too, because somebody else has answered.
func (c *openCall) elicit(ask string, question *mcp.ElicitParams) error {
	ctx, cancel := c.within(c.ctx, c.config.Wait-time.Since(c.began))
	defer cancel()
	answered := make(chan *mcp.ElicitResult, 1)
	go func() {
		defer close(answered)
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

// replied serves a call that is repeated with the answer to a question.
func (r *request) replied(p *mcp.CallToolParamsRaw) (mcp.Result, error) {
	digest := requestDigest(p)
	state, ok := r.state.read(p.RequestState, r.caller.ID, digest, time.Now())
	if !ok {
		return nil, invalid("requestState is not that of a question about this call")
	}
	s := r.run
	s.key = state.Session
	c := &openCall{request: r, session: s, id: state.Call, began: time.Now(),
		requestDigest: digest}
	c.tool, _ = r.config.Catalog().Get(toolName(p))
	if err := c.load(); err != nil {
		return nil, err
	}
	if c.askID() == state.Ask {
		res, _ := p.InputResponses[replyName].(*mcp.ElicitResult)
		if res == nil {
			return nil, invalid("inputResponses has no answer to the question")
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
// answered: the question stays open. A reply that the session refuses is an error of the client.
func (c *openCall) reply(ask string, res *mcp.ElicitResult) error {
	if res.Action == "cancel" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.ctx, cancelWithin)
	defer cancel()
	var err error
	if a := c.status.Approval; a != nil && a.Digest == ask {
		err = c.config.Sessions.Decide(ctx, c.session.RunID(), decisionOf(c, a, res))
	} else {
		err = c.config.Sessions.Answer(ctx, c.session.RunID(), replyOf(c, ask, res))
	}
	if refusal, ok := errors.AsType[*api.ReplyError](err); ok {
		return invalid(fmt.Sprintf("the answer was rejected: %s", refusal.Error()))
	}
	if err != nil {
		return c.unavailable(err)
	}
	return nil
}

// decisionOf returns the decision of a caller about its own call.
func decisionOf(c *openCall, a *api.Approval, res *mcp.ElicitResult) api.Decision {
	d := api.Decision{Call: a.Call, Digest: a.Digest, Kind: api.DecisionDeny, By: c.caller.ID,
		Auth: c.caller.Auth}
	if res.Action == "accept" && res.Content["decision"] == string(api.DecisionApprove) {
		d.Kind = api.DecisionApprove
	}
	d.Reason, _ = res.Content["reason"].(string)
	return d
}

// replyOf returns the answer to a question.
func replyOf(c *openCall, question string, res *mcp.ElicitResult) api.Reply {
	r := api.Reply{Question: question, By: c.caller.ID, Auth: c.caller.Auth}
	if res.Action != "accept" {
		r.Decline = true
		return r
	}
	var value any = res.Content
	if wrapped(c.status.Question.Schema) {
		value = res.Content[answerName]
	}
	r.Value, _ = json.Marshal(value) // it was decoded from JSON
	return r
}
