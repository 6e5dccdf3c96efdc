package switchyard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Types of package api that runs are started with.
type (
	// Agent is a model with tools, limits and instructions. Read one from a file with agents.Load.
	Agent = api.Agent
	// Message is one message of a conversation.
	Message = api.Message
	// Plan is a list of calls with dependencies. Read one from a file with plans.Load.
	Plan = api.Plan
)

// Start describes a run. Set one of Agent, Plan and Tool.
type Start struct {
	// Agent runs with Prompt as its task. Messages are the conversation before the prompt.
	Agent    *Agent
	Prompt   string
	Messages []Message
	// Plan runs its calls without a model.
	Plan *Plan
	// Tool is called once. Arguments is a value that encodes to a JSON object; nil is {}.
	Tool      string
	Arguments any
	StartOptions
}

// StartOptions are the settings that all kinds of run have. The zero value is valid.
type StartOptions struct {
	// ID identifies the run; default is its name and eight random digits. A start with the ID of a
	// run that was started in the same way, whether it is open or has ended, returns that run and
	// starts nothing. The settings that count are those of Start and of the options below, apart
	// from Trace. If any of them differs, the error is run_exists.
	ID string
	// RefuseExisting makes the ID of any existing run the error run_exists.
	RefuseExisting bool
	// Conversation groups runs. An agent's run continues the conversation: it starts with the
	// messages of the last run, unless there are Messages, and has the conversation's ID. The
	// server allows one open run of it at a time; a second one is the error conversation_busy, also
	// if it is equal.
	Conversation string
	// Wait makes an agent's run wait while its conversation is busy. OnWait, if set, is called
	// before each wait.
	Wait   bool
	OnWait func(OpenRun)
	// Caller and TaskQueue override those of the client.
	Caller, TaskQueue string
	// CallerAuth says how this program authenticated Caller, and CallerClaims are the claims of
	// that identity, as JSON values. Policies and records have them, and an authenticated caller
	// does not decide about the calls of its run unless the toolspec allows it.
	CallerAuth   api.AuthMethod
	CallerClaims map[string]any
	// Variables are visible to tools and in policies.
	Variables map[string]any
	// Mode overrides how strictly arguments are validated.
	Mode api.Mode
	// Priority is that of the run's model steps and calls.
	Priority api.Priority
	// DryRun withholds the calls of tools that may change something.
	DryRun bool
	// Trace is a W3C traceparent.
	Trace string
}

// OpenRun is a run that keeps a conversation busy: its WorkflowID, RunID, Agent, Caller and when it
// Started. Fields besides WorkflowID may be empty.
type OpenRun = runstart.OpenRun

// Run starts the run of an agent.
//
// Errors: *Error of type validation_error if the input is wrong or larger than api.MaxInputs,
// *RequestError of the types run_exists, conversation_busy, run_unreadable, server_unreachable and
// server_refused, and those of ctx. After an error of ctx or server_unreachable the run may have
// started: start it again with the same ID.
func (c *Client) Run(ctx context.Context, a *Agent, prompt string, o StartOptions) (*Run, error) {
	return c.Start(ctx, Start{Agent: a, Prompt: prompt, StartOptions: o})
}

// Call starts a direct call of one tool. Arguments encodes to a JSON object; nil is {}. Errors are
// those of Run. Invalid arguments are an error of the call, which Result returns.
func (c *Client) Call(ctx context.Context, tool string, arguments any, o StartOptions) (*Run,
	error) {
	return c.Start(ctx, Start{Tool: tool, Arguments: arguments, StartOptions: o})
}

// Plan starts the run of a plan. Errors are those of Run.
func (c *Client) Plan(ctx context.Context, p *Plan, o StartOptions) (*Run, error) {
	return c.Start(ctx, Start{Plan: p, StartOptions: o})
}

// Start starts a run, as Run, Call and Plan do.
func (c *Client) Start(ctx context.Context, s Start) (*Run, error) {
	r, err := c.request(s)
	if err != nil {
		return nil, err
	}
	started, err := c.namespace.Start(ctx, r, s.OnWait)
	run := &Run{client: c, id: r.ID, runID: started.RunID, first: started.RunID,
		missing: started.Missing}
	if taken, ok := errors.AsType[*runstart.ExistsError](err); ok && taken.Equal &&
		!s.RefuseExisting {
		run.runID, run.first, run.existed = taken.RunID, taken.RunID, true
		return run, nil
	}
	if err != nil {
		return nil, startError(ctx, r.ID, err)
	}
	return run, nil
}

// request builds and checks the request of a start.
func (c *Client) request(s Start) (*runstart.Request, error) {
	r := &runstart.Request{Queue: cmp.Or(s.TaskQueue, c.taskQueue), Wait: s.Wait,
		Input: api.RunInput{Conversation: s.Conversation, Variables: s.Variables, Mode: s.Mode,
			Priority: s.Priority, DryRun: s.DryRun, Trace: s.Trace,
			Caller: api.Caller{Type: api.CallerDirect, ID: cmp.Or(s.Caller, c.caller),
				Auth: s.CallerAuth, Claims: s.CallerClaims}}}
	if err := s.fill(r); err != nil {
		return nil, err
	}
	if r.Exclusive = s.Agent != nil && s.Conversation != ""; r.Exclusive {
		r.ID = s.Conversation
		r.Input.Continue = r.Earlier == nil
	} else {
		r.ID = cmp.Or(s.ID, r.Name+"-"+runstart.RandomHex(4))
	}
	return r, s.check(r)
}

// fill sets what the run executes.
func (s Start) fill(r *runstart.Request) (err error) {
	given := 0
	if s.Agent != nil {
		given++
		r.Kind, r.Workflow, r.Name = api.CallerAgent, api.AgentWorkflow, s.Agent.Name
		r.Input.Agent, r.Input.Prompt = s.Agent, s.Prompt
		r.Earlier, err = codec.EncodeMessages(s.Messages)
	}
	if s.Plan != nil {
		given++
		r.Kind, r.Workflow, r.Name = api.CallerPlan, api.PlanWorkflow, cmp.Or(s.Plan.Name, "plan")
		packed := api.Pack(*s.Plan)
		r.Input.Plan = &packed
	}
	if s.Tool != "" {
		given++
		r.Kind, r.Workflow, r.Name = api.CallerDirect, api.CallWorkflow, s.Tool
		r.Input.Call, err = s.call()
	}
	if given != 1 {
		return invalid("$", api.RuleRequired, "set exactly one of Agent, Plan and Tool")
	}
	return err
}

// call returns the direct call.
func (s Start) call() (*api.Call, error) {
	if err := api.CheckToolName(s.Tool); err != nil {
		return nil, invalid("$.tool", api.RuleType, err.Error())
	}
	if s.Arguments == nil {
		return &api.Call{Tool: s.Tool, Arguments: "{}"}, nil
	}
	text, written := s.Arguments.(json.RawMessage)
	if !written {
		var err error
		if text, err = jsonvalue.Encode(s.Arguments); err != nil {
			return nil, invalid("$.arguments", api.RuleType, err.Error())
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return nil, invalid("$.arguments", api.RuleType,
			"a "+fmt.Sprintf("%T", s.Arguments)+" does not encode to a JSON object")
	}
	return &api.Call{Tool: s.Tool, Arguments: string(text)}, nil
}

// check rejects settings that cannot be sent or searched.
func (s Start) check(r *runstart.Request) error {
	for _, one := range []struct{ field, value string }{{"id", r.ID},
		{"conversation", s.Conversation}, {"caller", r.Input.Caller.ID}} {
		if len(one.value) > api.MaxAttribute {
			return invalid("$."+one.field, api.RuleType, fmt.Sprintf(
				"it has %d bytes; at most %d are searchable", len(one.value), api.MaxAttribute))
		}
	}
	if s.Mode != "" && s.Mode != api.ModeStrict && s.Mode != api.ModeLenient {
		return invalid("$.mode", api.RuleType, "use strict or lenient")
	}
	if s.Priority != "" && !slices.Contains(api.Priorities, s.Priority) {
		return invalid("$.priority", api.RuleType, "use urgent, high, normal or low")
	}
	return s.checkID(r)
}

// checkID rejects IDs that the server or the run cannot have.
func (s Start) checkID(r *runstart.Request) error {
	switch {
	case !display.Sendable(r.ID):
		return invalid("$.id", api.RuleType, fmt.Sprintf(
			"%q is not valid: use letters, digits and _ - . : /", r.ID))
	case r.Exclusive && s.ID != "" && s.ID != s.Conversation:
		return invalid("$.id", api.RuleType,
			"an agent's runs of a conversation have its ID; leave out ID")
	}
	return nil
}

// invalid returns the error of a wrong input, with which nothing was sent.
func invalid(path, rule, message string) *Error {
	e := api.Errorf(api.ErrValidation, "the run is not valid; nothing was started")
	e.Problems, e.Phase = []api.Problem{{Path: path, Rule: rule, Message: message}},
		api.PhasePreValidation
	return e
}

// Ended is the end of one run of RunAll.
type Ended struct {
	// Run is nil if the run was not started.
	Run    *Run
	Result RunResult
	// Err is the error of Start or of Result.
	Err error
}

// RunAll starts runs, at most atOnce of them at a time, and yields the index and the end of each as
// they end. atOnce below 1 is 1. If the loop ends early or ctx ends, RunAll starts no more runs;
// those that are open go on. With an ID for each run, RunAll can be called again, in another
// process as well: it starts what is missing and yields the results of all.
func (c *Client) RunAll(ctx context.Context, starts []Start, atOnce int) iter.Seq2[int, Ended] {
	return func(yield func(int, Ended) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		ends := make(chan indexed)
		next := make(chan int)
		for range min(max(atOnce, 1), len(starts)) {
			go func() {
				for i := range next {
					select {
					case ends <- indexed{i, c.runToEnd(ctx, starts[i])}:
					case <-ctx.Done():
						return
					}
				}
			}()
		}
		go feed(ctx, next, len(starts))
		for range starts {
			select {
			case one := <-ends:
				if !yield(one.index, one.end) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// indexed is the end of one run of RunAll.
type indexed struct {
	index int
	end   Ended
}

// runToEnd starts a run and waits for its end.
func (c *Client) runToEnd(ctx context.Context, s Start) (end Ended) {
	if end.Run, end.Err = c.Start(ctx, s); end.Err == nil {
		end.Result, end.Err = end.Run.Result(ctx)
	}
	return end
}

// feed sends the numbers below n until ctx ends.
func feed(ctx context.Context, next chan<- int, n int) {
	defer close(next)
	for i := range n {
		select {
		case next <- i:
		case <-ctx.Done():
			return
		}
	}
}
