package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// firstPoll and lastPoll are the first and the longest wait between two looks at a call.
	firstPoll = 20 * time.Millisecond
	lastPoll  = time.Second
	// progressEvery is how often a client hears that its call still runs.
	progressEvery = 5 * time.Second
	// maxVersion bounds the protocol version of a client in records, in characters.
	maxVersion = 40
	// cancelWithin bounds the request that cancels a call.
	cancelWithin = 10 * time.Second
)

// openCall is a call that a message waits for.
type openCall struct {
	*request
	// session is where the call was made, which is an earlier one of the caller for get_result.
	session Session
	id      string
	// execution is the one that makes the call; empty if it is unknown.
	execution string
	// submission is the id of the client's request, if that repeated an earlier call, which was not
	// made again; else it is empty or that of the call.
	submission string
	// keyed is set if the client gave the call a key, with which it can repeat it.
	keyed bool
	// tool is nil if the catalog no longer has it.
	tool   *toolspecs.Compiled
	status api.SessionCallStatus
	began  time.Time
	// asked are the questions and approvals that the client was asked about.
	asked map[string]bool
	// answers came with the request, by the names of questions.
	answers mcp.InputResponseMap
	// requestDigest identifies the request; empty for one that cannot be repeated with an answer.
	requestDigest string
}

// handle names the call in any session of the caller.
func (c *openCall) handle() string {
	handle := strings.TrimSuffix(c.session.key+"."+c.id+"."+c.execution, ".")
	if c.repeats() {
		handle += repeatedBy + c.submission
	}
	return handle
}

// repeatedBy precedes the submission in the handle of a call that the client's request repeated.
const repeatedBy = ".repeated-by."

// repeats reports whether the client's request repeated an earlier call.
func (c *openCall) repeats() bool { return c.submission != "" && c.submission != c.id }

// parseHandle returns the call that a caller names.
func (r *request) parseHandle(handle string) (*openCall, bool) {
	handle, submission, repeats := strings.Cut(handle, repeatedBy)
	key, rest, _ := strings.Cut(handle, ".")
	id, execution, _ := strings.Cut(rest, ".")
	if !sessionKey.MatchString(key) || !sessionKey.MatchString(id) ||
		execution != "" && !sessionKey.MatchString(execution) ||
		repeats && !sessionKey.MatchString(submission) {
		return nil, false
	}
	s := r.run
	s.key = key
	return &openCall{request: r, session: s, id: id, execution: execution,
		submission: submission, began: time.Now()}, true
}

// call serves tools/call.
func (r *request) call(p *mcp.CallToolParamsRaw) (mcp.Result, error) {
	name, args := p.Name, normalizeArguments(p.Arguments)
	switch {
	case p.RequestState != "":
		return r.serveReply(p)
	case name == getResult:
		return r.getResult(args)
	case name == findTools:
		return r.findTools(args)
	case name == callTool:
		var fault *api.Error
		if name, args, fault = inner(args); fault != nil {
			return r.failure(fault), nil
		}
	}
	return r.submit(p, name, args)
}

// normalizeArguments returns the arguments of a call. Some clients send null or [] for none.
func normalizeArguments(args json.RawMessage) json.RawMessage {
	switch strings.TrimSpace(string(args)) {
	case "", "null", "[]":
		return json.RawMessage(`{}`)
	}
	return args
}

// submit makes a call of a tool and returns its result.
func (r *request) submit(p *mcp.CallToolParamsRaw, name string, args json.RawMessage) (mcp.Result,
	error) {
	tool, err := r.find(name)
	if err != nil {
		return nil, err
	}
	c, refusal, err := r.start(tool, normalizeArguments(args), requestDigest(p))
	if refusal != nil || err != nil {
		return refusal, err
	}
	c.answers = maps.Clone(p.InputResponses)
	return c.follow()
}

// start makes a call of a tool. The result is what the client gets if the call was not accepted.
// digest identifies the request; empty for one that cannot be repeated with an answer.
func (r *request) start(tool *toolspecs.Compiled, args json.RawMessage, digest string) (*openCall,
	mcp.Result, error) {
	submitted := api.SessionCall{ID: newCallID(time.Now()), New: true, Tool: tool.Spec.Name,
		Arguments: string(args), Wait: api.Duration(r.config.Direct), Caller: r.caller,
		Trace: r.trace(), MCP: r.message()}
	submitted.Key, _ = r.meta[idempotencyKey].(string)
	keyed := submitted.Key != ""
	if !keyed && r.isUnnamed() {
		submitted.Key = "call-" + submitted.ID
	}
	c := &openCall{request: r, session: r.run, id: submitted.ID, submission: submitted.ID,
		keyed: keyed, tool: tool, began: time.Now(), requestDigest: digest}
	if fault := people.CheckSessionCall(submitted); fault != nil {
		return nil, nil, invalid(fault.Error())
	}
	var err error
	if c.status, err = r.config.Sessions.Submit(r.ctx, r.run, submitted); err != nil {
		refusal, err := c.toRefusal(err)
		return c, refusal, err
	}
	c.id, c.execution = c.status.ID, c.status.RunID
	return c, nil, nil
}

// toRefusal returns what a client gets whose call was not accepted.
func (c *openCall) toRefusal(err error) (mcp.Result, error) {
	if c.ctx.Err() != nil {
		c.abandon()
		return nil, c.ctx.Err()
	}
	refusal, ok := errors.AsType[*api.ControlError](err)
	if !ok {
		return nil, c.unavailable(err)
	}
	fault := api.Errorf(api.ErrQueueFull, "%s", refusal.Message)
	if fault.Retryable = refusal.Type != api.ControlMalformed; !fault.Retryable {
		fault.Type = api.ErrValidation
	}
	fault.NotStarted = true
	return c.failure(fault), nil
}

// follow returns the result of a call, or what the client can do until there is one.
func (c *openCall) follow() (mcp.Result, error) {
	if res, err := c.readOrAsk(); res != nil || err != nil {
		return res, err
	}
	if err := c.await(c.config.Direct - time.Since(c.began)); err != nil {
		return nil, err
	}
	if res, err := c.readOrAsk(); res != nil || err != nil {
		return res, err
	}
	if c.follows() {
		return c.createTask(), nil
	}
	if err := c.await(c.config.Wait - time.Since(c.began)); err != nil {
		return nil, err
	}
	if c.status.State == api.SessionCallEnded {
		return c.readResult()
	}
	return c.pendingResult(), nil
}

// readOrAsk returns the result of a call that has ended, or the question to a client that can
// answer it; nil if there is neither.
func (c *openCall) readOrAsk() (mcp.Result, error) {
	if c.status.State == api.SessionCallEnded {
		return c.readResult()
	}
	return c.ask()
}

// readResult returns the result of a call that has ended.
func (c *openCall) readResult() (mcp.Result, error) {
	if c.status.Outcome == nil {
		var err error
		c.status, err = c.config.Sessions.Status(c.ctx, c.session, c.id, c.execution)
		if err != nil {
			return nil, c.unavailable(err)
		}
	}
	if c.status.Outcome == nil {
		return c.failure(api.Errorf(api.ErrOutcomeUnknown,
			"the result of the call is no longer available")), nil
	}
	c.tellReports(c.status.Outcome.Result)
	return c.outcome(c.status.Outcome), nil
}

// await waits until a call has ended, asks something that the client has not been asked, or d has
// passed. If the client cancels, so does await.
func (c *openCall) await(d time.Duration) error {
	ctx, cancel := c.within(c.ctx, d)
	defer cancel()
	if err := c.poll(ctx, c.hasQuestion); err != nil {
		return err
	}
	if c.ctx.Err() != nil {
		c.abandon()
		return c.ctx.Err()
	}
	return nil
}

// poll looks at a call until it has ended, enough reports true, or ctx ends. It tells the client of
// progress.
func (c *openCall) poll(ctx context.Context, enough func() bool) error {
	for pause := firstPoll; c.status.State != api.SessionCallEnded && !enough(); {
		c.tellState()
		if !sleep(ctx, pause) {
			break
		}
		pause = min(2*pause, lastPoll)
		status, err := c.config.Sessions.Status(ctx, c.session, c.id, c.execution)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil
		case err != nil:
			return c.unavailable(err)
		}
		c.status = status
		c.tellLive()
	}
	return nil
}

// abandon cancels a call whose client has cancelled it or is gone. A once call, or one with a key,
// of a client that is gone goes on: the client is likely to repeat it, and then gets its result.
func (c *openCall) abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), cancelWithin)
	defer cancel()
	if c.hungUp() && (c.keyed || c.tool == nil || c.tool.Tool().Effect == api.EffectOnce) {
		// The call that a request repeats may have other clients, which are still there.
		err := c.config.Sessions.Leave(ctx, c.session,
			api.LeaveCall{ID: cmp.Or(c.submission, c.id)})
		if err != nil {
			c.config.Logger.Info("the result of a call whose client is gone is not kept for its "+
				"repetition", "call", c.id, "error", err)
		}
		return
	}
	if err := c.cancel(ctx); err != nil {
		c.config.Logger.Info("a call was not cancelled", "call", c.id, "error", err)
	}
}

func (c *openCall) cancel(ctx context.Context) error {
	return c.config.Sessions.Cancel(ctx, c.session, api.CancelCall{ID: c.id, By: c.caller.ID,
		Reason: "the client cancelled it"})
}

// sleep waits for d and reports whether ctx has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// getResult serves the tool get_result.
func (r *request) getResult(args json.RawMessage) (mcp.Result, error) {
	var in struct {
		Call string `json:"call_id"`
	}
	c, ok := (*openCall)(nil), json.Unmarshal(args, &in) == nil
	if ok {
		c, ok = r.parseHandle(in.Call)
	}
	if !ok {
		return r.failure(api.Errorf(api.ErrValidation,
			"call_id is not the call_id of a pending call")), nil
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	if c.status.State == api.SessionCallUnknown {
		return r.failure(api.Errorf(api.ErrValidation, "there is no call %s", in.Call)), nil
	}
	return c.followResult()
}

// followResult waits for a call that an earlier request made. A client that stops to wait does not
// cancel it.
func (c *openCall) followResult() (mcp.Result, error) {
	ctx, cancel := c.within(c.ctx, c.config.Wait)
	defer cancel()
	if err := c.poll(ctx, func() bool { return false }); err != nil {
		return nil, err
	}
	if c.status.State == api.SessionCallEnded {
		return c.readResult()
	}
	return c.pendingResult(), nil
}

// load reads the status of a call that is known by its id.
func (c *openCall) load() error {
	var err error
	if c.status, err = c.config.Sessions.Status(c.ctx, c.session, c.id, c.execution); err != nil {
		return c.unavailable(err)
	}
	if c.status.State != api.SessionCallUnknown {
		c.id, c.execution = c.status.ID, c.status.RunID
	}
	if o := c.status.Outcome; o != nil {
		c.tool, _ = c.config.Catalog().Get(o.Tool)
	}
	return nil
}
