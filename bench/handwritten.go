package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/scripted"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// The workflows that a user would write with the Temporal SDK to schedule the same activities: the
// same scripted model and tool with minimal inputs, and no conversation, admission, lanes,
// summaries or records.

type handInput struct{ Turns, Size int }

// hand has the activities of the hand-written workflows.
type hand struct {
	agent *api.Agent
	// digests are the digests of the tools, by name.
	digests map[string]string
}

func registerHandWritten(w worker.Worker, c client.Client, catalog *toolspecs.Catalog) error {
	functions, err := function.New(functions()...)
	if err != nil {
		return err
	}
	actions, err := activities.New(activities.Config{
		Catalog: func() *toolspecs.Catalog { return catalog }, Client: c,
		Executors: map[string]executor.Executor{toolspecs.KindFunction: functions},
	})
	if err != nil {
		return err
	}
	h := hand{agent: agent(turns, turnSize), digests: map[string]string{}}
	for _, tool := range catalog.All() {
		h.digests[tool.Spec.Name] = tool.Tool().Digest
	}
	w.RegisterWorkflowWithOptions(h.turns, workflow.RegisterOptions{Name: "handTurns"})
	w.RegisterWorkflowWithOptions(h.calls, workflow.RegisterOptions{Name: "handCalls"})
	w.RegisterWorkflowWithOptions(h.fan, workflow.RegisterOptions{Name: "handFan"})
	w.RegisterWorkflowWithOptions(h.agentRun, workflow.RegisterOptions{Name: "handAgent"})
	w.RegisterActivityWithOptions(h.model, activity.RegisterOptions{Name: "handModel"})
	w.RegisterActivityWithOptions(func(ctx context.Context, turn int,
		_ []handMessage) (string, error) {
		return h.model(ctx, turn)
	}, activity.RegisterOptions{Name: "handAgentModel"})
	w.RegisterDynamicActivity(actions.Tool, activity.DynamicRegisterOptions{})
	return nil
}

var handOptions = workflow.ActivityOptions{StartToCloseTimeout: time.Minute}

// turns executes the model steps and tool calls of an agent run with the same turns, including the
// last model step.
func (h hand) turns(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for turn := range in.Turns {
		var arguments string
		if err := workflow.ExecuteActivity(ctx, "handModel", turn+1).Get(ctx,
			&arguments); err != nil {
			return "", err
		}
		if err := h.call(ctx, "payload", arguments).end(ctx); err != nil {
			return "", err
		}
	}
	return "done", workflow.ExecuteActivity(ctx, "handModel", turns+1).Get(ctx, nil)
}

func (h hand) calls(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	for range in.Turns {
		if err := h.call(ctx, "payload", fmt.Sprintf(`{"size":%d}`, in.Size)).end(ctx); err != nil {
			return "", err
		}
	}
	return "done", nil
}

// fan makes parallel calls of pause. Size is their duration in milliseconds.
func (h hand) fan(ctx workflow.Context, in handInput) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, handOptions)
	var calls []handCall
	for range in.Turns {
		calls = append(calls, h.call(ctx, "pause", fmt.Sprintf(`{"ms":%d}`, in.Size)))
	}
	for _, c := range calls {
		if err := c.end(ctx); err != nil {
			return "", err
		}
	}
	return "done", nil
}

// handCall is a tool call in progress.
type handCall struct{ workflow.Future }

func (c handCall) end(ctx workflow.Context) error {
	var result api.Result
	return c.Get(ctx, &result)
}

func (h hand) call(ctx workflow.Context, tool, arguments string) handCall {
	input := api.Execution{Digest: h.digests[tool], Arguments: json.RawMessage(arguments)}
	return handCall{workflow.ExecuteActivity(ctx, tool, input)}
}

// model returns the steps of the agent's script, without a conversation.
func (h hand) model(ctx context.Context, turn int) (string, error) {
	response, err := scripted.Provider{}.Answer(ctx, models.Prompt{Agent: h.agent, Turn: turn})
	if err != nil || len(response.Message.Calls) == 0 {
		return "", err
	}
	return response.Message.Calls[0].Arguments, nil
}

// The workflow that a user would write with the Temporal SDK for an agent that people can follow
// and act on: it keeps the conversation for the model, answers queries for it and for its state,
// takes messages, can be paused, has tools that a person approves, and has limits. It has nothing
// else of an agent run: no pinned tools, policies, hooks, questions, instances, undo, labels,
// records or details for the Web UI.

// handAgentInput is the input of that workflow.
type handAgentInput struct {
	Name, Instructions, Prompt string
	Tools                      []string
	// MaxTurns and MaxCalls are its limits.
	MaxTurns, MaxCalls int
}

// handMessage is a message of the conversation.
type handMessage struct{ Role, Text, CallID, Tool, Arguments string }

// handState is what the query for the state returns.
type handState struct {
	Status        string
	Turns, Calls  int
	Paused        bool
	WaitsForHuman []string
}

// handRun is the state of one run.
type handRun struct {
	in           handAgentInput
	conversation []handMessage
	// inbox are messages of the user that the model has not seen.
	inbox []string
	state handState
	// approved has the decisions about calls that wait for approval.
	approved map[string]bool
}

// handle registers the handlers of queries and updates.
func (r *handRun) handle(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandler(ctx, "conversation", func() ([]handMessage, error) {
			return r.conversation, nil
		}),
		workflow.SetQueryHandler(ctx, "state", func() (handState, error) { return r.state, nil }),
		workflow.SetUpdateHandlerWithOptions(ctx, "send", r.send,
			workflow.UpdateHandlerOptions{Validator: r.maySend}),
		workflow.SetUpdateHandlerWithOptions(ctx, "pause", r.pause,
			workflow.UpdateHandlerOptions{Validator: r.mayPause}),
		workflow.SetUpdateHandlerWithOptions(ctx, "resume", r.resume,
			workflow.UpdateHandlerOptions{Validator: r.mayResume}),
		workflow.SetUpdateHandlerWithOptions(ctx, "decide", r.decide,
			workflow.UpdateHandlerOptions{Validator: r.mayDecide}))
}

func (r *handRun) maySend(_ workflow.Context, text string) error {
	if text == "" {
		return errors.New("the message is empty")
	}
	return nil
}

func (r *handRun) send(_ workflow.Context, text string) error {
	r.inbox = append(r.inbox, text)
	return nil
}

func (r *handRun) mayPause(workflow.Context) error {
	if r.state.Paused {
		return errors.New("the run is paused")
	}
	return nil
}

func (r *handRun) pause(workflow.Context) error {
	r.state.Paused = true
	return nil
}

func (r *handRun) mayResume(workflow.Context) error {
	if !r.state.Paused {
		return errors.New("the run is not paused")
	}
	return nil
}

func (r *handRun) resume(workflow.Context) error {
	r.state.Paused = false
	return nil
}

func (r *handRun) mayDecide(_ workflow.Context, call string, _ bool) error {
	for _, waiting := range r.state.WaitsForHuman {
		if waiting == call {
			return nil
		}
	}
	return fmt.Errorf("no call %q waits", call)
}

func (r *handRun) decide(_ workflow.Context, call string, approved bool) error {
	if r.approved == nil {
		r.approved = map[string]bool{}
	}
	r.approved[call] = approved
	return nil
}

// agent is the workflow.
func (h hand) agentRun(ctx workflow.Context, in handAgentInput) (string, error) {
	r := &handRun{in: in, conversation: []handMessage{{Role: "system", Text: in.Instructions},
		{Role: "user", Text: in.Prompt}}}
	if err := r.handle(ctx); err != nil {
		return "", err
	}
	for r.state.Turns < in.MaxTurns && r.state.Calls < in.MaxCalls {
		if err := workflow.Await(ctx, func() bool { return !r.state.Paused }); err != nil {
			return "", err
		}
		for _, text := range r.inbox {
			r.conversation = append(r.conversation, handMessage{Role: "user", Text: text})
		}
		r.inbox = nil
		done, err := h.turn(ctx, r)
		if done || err != nil {
			return r.conversation[len(r.conversation)-1].Text, err
		}
	}
	return "", errors.New("the run reached a limit")
}

// turn makes a model step and the call that it asks for. done reports that there is none.
func (h hand) turn(ctx workflow.Context, r *handRun) (done bool, err error) {
	r.state.Turns++
	r.state.Status = "waits for the model"
	var arguments string
	err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, handOptions), "handAgentModel",
		r.state.Turns, r.conversation).Get(ctx, &arguments)
	if err != nil || arguments == "" {
		return true, err
	}
	r.state.Calls++
	r.state.Status = "calls payload"
	id := fmt.Sprintf("%d.1", r.state.Turns)
	r.conversation = append(r.conversation, handMessage{Role: "assistant", CallID: id,
		Tool: "payload", Arguments: arguments})
	var result api.Result
	err = h.call(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{ActivityID: id,
		TaskQueue: handQueue + "/unserved", StartToCloseTimeout: time.Minute,
		Summary: arguments}), "payload", arguments).Get(ctx, &result)
	if err != nil {
		return true, err
	}
	r.conversation = append(r.conversation, handMessage{Role: "tool", CallID: id,
		Text: string(result.Output)})
	return false, nil
}
