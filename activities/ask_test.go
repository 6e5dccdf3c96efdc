package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/human"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// askedRun is a run with questions, and the server's side of calls that wait for people.
type askedRun struct {
	queriedRun
	mu sync.Mutex
	// posts are the received questions, by update id and in order; replies are their answers, one
	// per attempt.
	posts   []client.UpdateWorkflowOptions
	replies []func(api.Question) (api.Reply, error)
	// pending is the state of the call 1.1 at the server, which has ended without one; ended is its
	// end.
	pending enumspb.PendingActivityState
	result  any
	failure error
	missing error
}

func (r *askedRun) UpdateWorkflow(_ context.Context,
	o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts = append(r.posts, o)
	if len(r.replies) == 0 {
		return nil, errors.New("the test has no reply left")
	}
	reply := r.replies[0]
	if len(r.replies) > 1 {
		r.replies = r.replies[1:]
	}
	answer, err := reply(o.Args[0].(api.Question))
	if _, ours := errors.AsType[serviceerror.ServiceError](err); ours {
		return nil, err
	}
	return replied{reply: answer, err: err}, nil
}

type replied struct {
	client.WorkflowUpdateHandle
	reply api.Reply
	err   error
}

func (r replied) Get(_ context.Context, into any) error {
	*into.(*api.Reply) = r.reply
	return r.err
}

func (r *askedRun) DescribeWorkflowExecution(context.Context, string,
	string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	d := &workflowservice.DescribeWorkflowExecutionResponse{PendingActivities: []*workflowpb.PendingActivityInfo{{ActivityId: "0.1"}}}
	if r.pending != 0 {
		d.PendingActivities = append(d.PendingActivities,
			&workflowpb.PendingActivityInfo{ActivityId: "1.1", State: r.pending})
	}
	return d, r.missing
}

func (r *askedRun) CompleteActivityByID(_ context.Context, _, _, _, _ string, result any,
	err error) error {
	r.result, r.pending = result, 0
	if err != nil {
		c := temporal.GetDefaultFailureConverter()
		// as whoever waits for the call reads it
		r.failure = c.FailureToError(c.ErrorToFailure(err))
	}
	return nil
}

func says(value string) func(api.Question) (api.Reply, error) {
	return func(api.Question) (api.Reply, error) {
		return api.Reply{Question: "1.1/1", By: "ada", Value: json.RawMessage(value)}, nil
	}
}

func refuses(err error) func(api.Question) (api.Reply, error) {
	return func(api.Question) (api.Reply, error) { return api.Reply{}, err }
}

func refusal(kind api.ReplyErrorType) error {
	return temporal.NewApplicationErrorWithOptions("because", string(kind),
		temporal.ApplicationErrorOptions{NonRetryable: true})
}

// askingBench returns a process with the tool probe, which asks as ask does; change may alter its
// spec.
func askingBench(t *testing.T, ask func(context.Context) (executor.Answer, error),
	change func(*toolspecs.Spec)) (*bench, *askedRun, *toolspecs.Compiled) {
	t.Helper()
	catalog := catalogOf(t, spec("probe", func(s *toolspecs.Spec) {
		s.Entry.Kind = toolspecs.FunctionEntry{AnswerWithin: api.Duration(time.Minute)}
		s.Execution.Timeout = api.Duration(time.Second)
		if change != nil {
			change(s)
		}
	}))
	run := &askedRun{}
	b := setUp(t, catalog, func(c *Config) {
		c.Client = run
		c.Executors = map[string]executor.Executor{toolspecs.KindHuman: human.Executor{},
			toolspecs.KindFunction: answerFunc(func(ctx context.Context, _ *toolspecs.Spec,
				_ json.RawMessage) (executor.Answer, error) {
				return ask(ctx)
			})}
	})
	compiled, _ := catalog.Get("probe")
	return b, run, compiled
}

// asks returns a tool that asks once and answers with the value of the reply.
func asks(text, schema string) func(context.Context) (executor.Answer, error) {
	return func(ctx context.Context) (executor.Answer, error) {
		reply, err := tool.Ask(ctx, text, json.RawMessage(schema))
		return executor.Answer{Output: reply.Value, Notes: []string{"own"}}, err
	}
}

// The question reaches the run with the call's name, the schema and the time to answer, also if the
// run or the server did not accept it at first. The result has the name of the person.
func TestAsk_ReturnsTheReply(t *testing.T) {
	b, run, compiled := askingBench(t, asks("Go \xffon?", `{"type":"string"}`), nil)
	run.replies = []func(api.Question) (api.Reply, error){refuses(refusal(api.ReplyBusy)),
		refuses(serviceerror.NewUnavailable("away")), says(`"yes"`)}
	result, err := b.execute(t, executionOf(compiled), nil)
	if err != nil || string(result.Output) != `"yes"` || strings.Join(result.Notes,
		"|") != "question 1.1/1 was answered by ada|own" {
		t.Errorf("got %+v, %v", result, err)
	}
	if len(run.posts) != 3 {
		t.Fatalf("%d posts", len(run.posts))
	}
	for _, p := range run.posts {
		q := p.Args[0].(api.Question)
		left := time.Until(q.Until)
		if p.UpdateName != api.AskQuestionUpdate || p.UpdateID != run.posts[0].UpdateID ||
			q.Text != "Go \uFFFDon?" || q.Tool != "probe" || q.Call == "" ||
			string(q.Schema) != `{"type":"string"}` || left <= 0 || left > time.Minute {
			t.Errorf("posted %+v", p)
		}
	}
}

// The ids are the same in every attempt, in any order.
func TestAsk_GivesEachQuestionAnID(t *testing.T) {
	attempt := func(texts ...string) map[string]string {
		b, run, compiled := askingBench(t, func(ctx context.Context) (executor.Answer, error) {
			for _, text := range texts {
				if _, err := tool.Ask(ctx, text, nil); err != nil {
					return executor.Answer{}, err
				}
			}
			return executor.Answer{Output: json.RawMessage(`1`)}, nil
		}, nil)
		run.replies = []func(api.Question) (api.Reply, error){says(`1`)}
		if _, err := b.execute(t, executionOf(compiled), nil); err != nil {
			t.Fatal(err)
		}
		ids := map[string]string{}
		for _, p := range run.posts {
			ids[p.UpdateID] = p.Args[0].(api.Question).Text
		}
		return ids
	}
	first, second := attempt("a", "b", "a"), attempt("b", "a", "a")
	if len(first) != 3 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("the ids are %v, then %v", first, second)
	}
}

func TestAsk_FailsWithoutAValidReply(t *testing.T) {
	for _, test := range []struct {
		name, text, schema string
		reply              error
		change             func(*toolspecs.Spec)
		want               api.ErrorType
		words              string
	}{
		{name: "no answer in time", text: "?", reply: refusal(api.ReplyTimeout),
			want: api.ErrApprovalTimeout, words: "the question of probe was not answered within 1m0s"},
		{name: "withdrawn", text: "?", reply: refusal(api.ReplyClosed), want: api.ErrCancelled,
			words: "the question was withdrawn: because"},
		{name: "not passed on", text: "?", reply: refusal(api.AskRefused), want: api.ErrExecution,
			words: "probe asks a person what the run does not pass on: because"},
		{name: "the run is over", text: "?", reply: serviceerror.NewNotFound("gone"),
			want: api.ErrCancelled, words: "the run that asks has ended"},
		{name: "the server refuses", text: "?", reply: serviceerror.NewInvalidArgument("what"),
			want: api.ErrExecution, words: "the server refuses the question of probe: what"},
		{name: "not allowed to", text: "?", reply: serviceerror.NewPermissionDenied("no", ""),
			want: api.ErrExecution, words: "the worker may not ask on behalf of probe: no"},
		{name: "away until the end", text: "?", reply: serviceerror.NewUnavailable("away"),
			want: api.ErrApprovalTimeout, words: "the question of probe was not answered within 20ms",
			change: func(s *toolspecs.Spec) {
				s.Entry.Kind = toolspecs.FunctionEntry{
					AnswerWithin: api.Duration(20 * time.Millisecond)}
			}},
		{name: "nothing", text: " \n", want: api.ErrExecution, words: "probe asks a person nothing: the text is empty"},
		{name: "too long", text: strings.Repeat("?", api.MaxQuestionText+1), want: api.ErrExecution,
			words: "probe asks a person with a text of 16385 bytes; at most 16384"},
		{name: "a large schema", text: "?", schema: `"` +
			strings.Repeat("x", api.MaxQuestionSchema) + `"`, want: api.ErrExecution,
			words: "probe asks a person with a schema of 65538 bytes; at most 65536"},
		{name: "no schema", text: "?", schema: `{"type":7}`, want: api.ErrExecution,
			words: "probe asks a person with a schema that is none: this is not a usable JSON Schema: \"toolspec:///schema#\" is not valid against metaschema: jsonschema validation failed with 'https://json-schema.org/draft/2020-12/schema#'\n- at '': 'allOf' failed\n  - at '/type': 'anyOf' failed\n    - at '/type': value must be one of 'array', 'boolean', 'integer', 'null', 'number', 'object', 'string'\n    - at '/type': got number, want array"},
		{name: "not declared", text: "?", want: api.ErrPreconditionFailed,
			words:  `tool "probe" asks a person, but its toolspec has no entry.answer_within; add one`,
			change: func(s *toolspecs.Spec) { s.Entry.Kind = toolspecs.FunctionEntry{} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			b, run, compiled := askingBench(t, asks(test.text, test.schema), test.change)
			run.replies = []func(api.Question) (api.Reply, error){refuses(test.reply)}
			_, err := b.execute(t, executionOf(compiled), nil)
			if e, _ := callError(t, err); e.Type != test.want ||
				e.Message != test.words || e.Retryable {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// A call that asks is cancelled, timed out and requeued like any other call.
func TestAsk_CanBeStopped(t *testing.T) {
	stopping := errors.New("worker shutdown")
	for cause, want := range map[error]api.ErrorType{stopping: api.ErrWorkerLost,
		temporal.NewCanceledError(): api.ErrCancelled} {
		asked := make(chan struct{})
		b, run, compiled := askingBench(t, asks("?", ""), nil)
		run.replies = []func(api.Question) (api.Reply, error){func(api.Question) (api.Reply,
			error) {
			close(asked)
			return api.Reply{}, refusal(api.ReplyBusy)
		}, refuses(refusal(api.ReplyBusy))}
		_, err := b.execute(t, executionOf(compiled),
			func(end context.CancelCauseFunc) { go func() { <-asked; end(cause) }() })
		if want == api.ErrCancelled {
			if !temporal.IsCanceledError(err) {
				t.Errorf("got %v", err)
			}
		} else if e, _ := callError(t, err); e.Type != want || !e.Retryable {
			t.Errorf("got %+v", e)
		}
	}
}

// The timeout of a tool does not pass during questions, several at a time too, and passes before
// and after.
func TestToolClock_PausesWhilePeopleAreAsked(t *testing.T) {
	const timeout = 400 * time.Millisecond
	ctx, clock, cancel := executor.WithClock(context.Background(), timeout)
	defer cancel()
	clock.Pause()
	clock.Pause()
	clock.Resume()
	paused := time.NewTimer(2 * timeout)
	select {
	case <-ctx.Done():
		t.Fatal("the timeout passed in a pause")
	case <-paused.C:
	}
	if asked := clock.PausedTime(); asked < 2*timeout {
		t.Errorf("asked for %s", asked)
	}
	clock.Resume()
	asked := clock.PausedTime()
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), executor.ErrTimeout) {
		t.Errorf("ended by %v", context.Cause(ctx))
	}
	if clock.PausedTime() != asked {
		t.Errorf("asked for %s, later for %s", asked, clock.PausedTime())
	}
	_, ended, cancel := executor.WithClock(context.Background(), time.Hour)
	cancel()
	ended.Resume() // after the end it has no effect
	if _, hasDeadline := ctx.Deadline(); hasDeadline {
		t.Error("the context has a deadline, which is unknown")
	}
}
