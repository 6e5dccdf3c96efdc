// Package runstart builds the requests that start runs, and sends them.
package runstart

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Request is a run to be started.
type Request struct {
	Kind api.CallerType
	// Workflow is the workflow type, Name the name of the agent, the plan or the tool.
	Workflow, Name string
	ID, Queue      string
	Input          api.RunInput
	// Earlier is the encoded conversation before the prompt; nil for none.
	Earlier []byte
	// Memo has fields of the run's memo besides those of the server; nil for none.
	Memo map[string]any
	// Exclusive says that the run has its conversation's workflow ID, which admits one run at a
	// time. With Wait the start waits until no other run is open.
	Exclusive, Wait bool
	// OwnConversation says that the server assigns the run's ID, and with it that of its own
	// conversation.
	OwnConversation bool
}

// SizeError is the error of an input that has more bytes than the limit.
type SizeError struct{ Input, Earlier, Limit int }

func (e *SizeError) Error() string {
	return fmt.Sprintf("the run's input has %d bytes, its earlier messages %d (compressed); the "+
		"limit is %d together\nShorten the prompt, the messages, the variables or the file.",
		e.Input, e.Earlier, e.Limit)
}

// CheckSize returns a *SizeError if the input has more bytes than the limit.
func (r *Request) CheckSize(limit int) error {
	data, err := json.Marshal(r.Input)
	if err != nil {
		return fmt.Errorf("the run's input cannot be written as JSON: %w", err)
	}
	if len(data)+len(r.Earlier) > limit {
		return &SizeError{Input: len(data), Earlier: len(r.Earlier), Limit: limit}
	}
	return nil
}

// Arguments returns the workflow's arguments. An agent's earlier messages are a separate argument.
func (r *Request) Arguments() []any {
	if r.Earlier == nil {
		return []any{r.Input}
	}
	return []any{r.Input, r.Earlier}
}

// Priority returns the workflow's priority. The server applies it to all activities and child runs
// without their own.
func (r *Request) Priority() temporal.Priority {
	p := temporal.Priority{FairnessKey: lanerules.FairnessKey(r.Input.Conversation)}
	if r.Input.Session != nil { // all sessions of a caller share
		p.FairnessKey = lanerules.FairnessKey(string(r.Kind) + "/" + r.Input.Caller.ID)
	}
	if r.Input.Priority != "" {
		p.PriorityKey = lanerules.PriorityLevel(r.Input.Priority)
	}
	return p
}

// Summary returns the line that lists and the Web UI show for the run.
func (r *Request) Summary() string {
	what := string(r.Kind)
	if r.Kind == api.CallerDirect {
		what = "call"
	}
	return callview.RunLine(what, r.Name, r.Input.Prompt)
}

// Attributes returns the run's search attributes that the namespace has, and the names of those
// that it lacks. It also tells the run which attributes it can set itself.
func (r *Request) Attributes(known attributes.Types) (set temporal.SearchAttributes,
	missing []string) {
	r.Input.Attributes = known.Kept()
	var updates []temporal.SearchAttributeUpdate
	for _, one := range r.attributes() {
		if known[one.name] != enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			missing = append(missing, one.name)
			continue
		}
		updates = append(updates,
			temporal.NewSearchAttributeKeyKeyword(one.name).ValueSet(one.value))
	}
	return temporal.NewSearchAttributes(updates...), missing
}

type attribute struct{ name, value string }

func (r *Request) attributes() []attribute {
	list := []attribute{{api.AttributeKind, string(r.Kind)},
		{api.AttributeCaller, r.Input.Caller.ID}}
	if r.Kind == api.CallerAgent {
		list = append(list, attribute{api.AttributeAgent, r.Name})
	}
	if !r.OwnConversation {
		list = append(list,
			attribute{api.AttributeConversation, cmp.Or(r.Input.Conversation, r.ID)})
	}
	return list
}

// options returns the options of the start.
func (r *Request) options(set temporal.SearchAttributes) client.StartWorkflowOptions {
	// A run ID is never reused, so that records stay findable. A conversation's ID names one open
	// run at a time.
	reuse := enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	if r.Exclusive {
		reuse = enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	}
	return client.StartWorkflowOptions{
		Memo: r.Memo, ID: r.ID, TaskQueue: r.Queue, StaticSummary: r.Summary(),
		TypedSearchAttributes:                    set,
		Priority:                                 r.Priority(),
		WorkflowTaskTimeout:                      api.WorkflowTaskTimeout,
		WorkflowIDReusePolicy:                    reuse,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
}
