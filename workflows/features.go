package workflows

import (
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// Feature returns the follower that takes part in a run of an agent. It is called once for each
// execution, before the run does anything.
type Feature func(ctx workflow.Context, r AgentRun) TurnFollower

// Follower is a feature of a run. It follows the run's calls, and saves what it knows for the next
// execution. Its methods are deterministic. A feature of this package is one line of newPipeline;
// one of another package is a Feature for All. Both embed Bystander for the methods that they do
// not need.
type Follower interface {
	// Admit takes the decisions of admission on calls, in their order.
	Admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time)
	// Readmit takes the decision on a call whose arguments a person changes.
	Readmit(v api.AdmissionDecision)
	// Approve takes a call whose approval is over, with its arguments after an edit, and the labels
	// that the approval clears; none for a call that was not approved.
	Approve(c *Call, clears []api.Clearing)
	// Begin takes a call whose first attempt starts.
	Begin(c *Call)
	// Take returns the outcome that the feature has for a call of the model, which is then not
	// executed; nil for none. arguments are the validated ones. It is asked before the call is
	// batched, edited or approved, and the call may end without that outcome, see Call.IsKnown.
	Take(c api.Call, arguments json.RawMessage) *KnownOutcome
	// Adopt takes the result of the run below a call.
	Adopt(c *Call, below *api.RunResult)
	// Requeue takes a call whose attempt did not start, and which is to be scheduled again.
	Requeue(c *Call)
	// End takes the outcome of a call. It may not have begun: it was rejected, denied or answered
	// without its tool.
	End(ctx workflow.Context, c *Call, out api.CallOutcome)
	// Finish waits, after the last call of a turn, for what the feature still has under way.
	Finish(ctx workflow.Context) error
	// Save adds what the next execution needs to its state, Restore takes that in it.
	Save(ctx workflow.Context, next *api.ContinueState)
	Restore(ctx workflow.Context, before *api.ContinueState)
}

// TurnFollower is a follower that also follows the turns of an agent's run.
type TurnFollower interface {
	Follower
	// Open returns what the run begins with, if the feature has that; nil for what the core loads.
	// first is the second input of the run. The error says why the run cannot start, see Invalid.
	Open(ctx workflow.Context, first []byte) (*Opening, error)
	// Start takes the beginning of the run, whose tools are pinned. Later executions do not start.
	Start(ctx workflow.Context)
	// Step takes that a model step is about to be made; limit is the limit that the run has
	// reached, or "".
	Step(ctx workflow.Context, limit string)
	// Answer takes the answer of the model step of a turn.
	Answer(m api.Message)
	// Tell takes the outcomes of a turn's calls, and the messages about them.
	Tell(outcomes []api.CallOutcome, messages []api.Message)
}

// Bystander is a TurnFollower that does nothing.
type Bystander struct{}

func (Bystander) Admit([]api.Call, []api.AdmissionDecision, time.Time) {}
func (Bystander) Readmit(api.AdmissionDecision)                        {}
func (Bystander) Approve(*Call, []api.Clearing)                        {}
func (Bystander) Begin(*Call)                                          {}
func (Bystander) Take(api.Call, json.RawMessage) *KnownOutcome         { return nil }
func (Bystander) Adopt(*Call, *api.RunResult)                          {}
func (Bystander) Requeue(*Call)                                        {}
func (Bystander) End(workflow.Context, *Call, api.CallOutcome)         {}
func (Bystander) Finish(workflow.Context) error                        { return nil }
func (Bystander) Save(workflow.Context, *api.ContinueState)            {}
func (Bystander) Restore(workflow.Context, *api.ContinueState)         {}
func (Bystander) Open(workflow.Context, []byte) (*Opening, error)      { return nil, nil }
func (Bystander) Start(workflow.Context)                               {}
func (Bystander) Step(workflow.Context, string)                        {}
func (Bystander) Answer(api.Message)                                   {}
func (Bystander) Tell([]api.CallOutcome, []api.Message)                {}

// KnownOutcome is the outcome that a feature has for a call. Source names where it comes from, for
// the note that the model reads with it.
type KnownOutcome struct {
	Source string
	// Output is the result of the call, Error why there is none.
	Output json.RawMessage
	Error  *api.Error
}

// AgentRun is the run of an agent, as its features see it.
type AgentRun interface {
	Input() *api.RunInput
	// Turn is the current turn, Before the number of turns that earlier runs of the conversation
	// took.
	Turn() int
	Before() int
	// Messages are the conversation so far, Labels those that the run has seen.
	Messages() []api.Message
	Labels() []string
	// Tool returns a tool of the run; its name is empty if the run has none of that name.
	Tool(name string) api.Tool
	// Calls counts the calls of the run by tool, and those of its sub-agents.
	Calls() (own, below []api.PastCalls)
	// Instances returns the instances of the run. It decides nothing, so that a replay can ask.
	Instances(ctx workflow.Context) []Instance
	// TakeOver has the run go on from what another one has done, before its first call.
	TakeOver(ctx workflow.Context, p Past)
}

// Opening is what a run begins with: the messages before its prompt, and the labels of what was
// read for them.
type Opening struct {
	Messages []api.Message
	Labels   []string
}

// Past is what a run has done, for one that goes on from there: the counts of Calls, and instances.
// Instances of tools that the run lacks are left out.
type Past struct {
	Own, Below []api.PastCalls
	Instances  []api.InstanceState
}

// Instance is an instance of a stateful tool, or a session with an MCP server, of a run.
type Instance struct {
	Name  string
	State api.InstanceState
	// Live says that a worker has the instance, so that State lacks its last snapshot.
	Live bool
}
