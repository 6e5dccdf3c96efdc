package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/value/display"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// listedRuns is the server as Load uses it: it lists runs, one list after the other, and each run
// answers with its messages.
type listedRuns struct {
	activitytest.Run
	lists   [][]*workflowpb.WorkflowExecutionInfo
	asked   []string
	texts   map[string][]api.Message
	failure map[string]error
}

func (l *listedRuns) ListWorkflow(_ context.Context,
	r *workflowservice.ListWorkflowExecutionsRequest) (
	*workflowservice.ListWorkflowExecutionsResponse, error) {
	l.asked = append(l.asked, r.Query)
	runs := l.lists[0]
	if len(l.lists) > 1 {
		l.lists = l.lists[1:]
	}
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: runs}, nil
}

func (l *listedRuns) QueryWorkflow(ctx context.Context, id, runID, query string,
	args ...any) (converter.EncodedValue, error) {
	if err := l.failure[runID]; err != nil {
		return nil, err
	}
	from := args[0].(int)
	page := api.NewPage(l.texts[runID], from)
	page.Turn, page.Labels = 7, []string{"untrusted"}
	run := activitytest.Run{Page: func(int) api.Page { return page }}
	return run.QueryWorkflow(ctx, id, runID, query, args...)
}

// GetWorkflow returns a run that was refused, if that is its id, and else one that was completed.
func (l *listedRuns) GetWorkflow(_ context.Context, _, runID string) client.WorkflowRun {
	return ended{refused: runID == "refused"}
}

// ended is a run as the server recorded its end.
type ended struct {
	client.WorkflowRun
	refused bool
}

func (e ended) Get(context.Context, any) error {
	if e.refused {
		return temporal.NewNonRetryableApplicationError("", string(api.RunInvalid), nil)
	}
	return nil
}

// past returns a run that ended at that second; zero is one that is listed as running.
func past(id, runID string, second int64) *workflowpb.WorkflowExecutionInfo {
	run := &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{WorkflowId: id,
		RunId: runID}, TaskQueue: "q",
		Status:    enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		CloseTime: timestamppb.New(time.Unix(second, 0))}
	if second == 0 {
		run.Status, run.CloseTime = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
	}
	return run
}

// self is the run that loads. Its run ID is that of the SDK's test environment.
func self() *workflowpb.WorkflowExecutionInfo {
	return past("c", "default-test-run-id", 0)
}

func user(text string) api.Message {
	return api.Message{Role: api.RoleUser, Text: text}
}

// started is when the run that loads the conversation started.
var started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// loadConversation loads the conversation c. It returns the texts of the messages too.
func (l *listedRuns) loadConversation(t *testing.T, last *api.LastRun) (api.LoadedConversation,
	[]string, error) {
	t.Helper()
	return l.loadNamed(t, "c", last)
}

func (l *listedRuns) loadNamed(t *testing.T, conversation string,
	last *api.LastRun) (api.LoadedConversation, []string, error) {
	t.Helper()
	store := New(Config{Client: l})
	load := func(ctx context.Context, _ converter.EncodedValues) (any, error) {
		return store.Load(ctx, api.LoadConversationRequest{Conversation: conversation,
			Started: started, LastRun: last})
	}
	value, err := activitytest.Within(t, api.LoadConversationActivity, nil, load)
	if err != nil {
		return api.LoadedConversation{}, nil, err
	}
	var r api.LoadedConversation
	if err := value.Get(&r); err != nil {
		t.Fatal(err)
	}
	messages, err := codec.DecodeMessages(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range messages {
		texts = append(texts, m.Text)
	}
	return r, texts, nil
}

// It skips runs that never started and runs that the server has deleted, and waits until the list
// of runs is up to date.
func TestLoad_ReturnsMessagesOfLastRun(t *testing.T) {
	never := serviceerror.NewWorkflowNotReady("never began")
	gone := serviceerror.NewNotFound("gone")
	for name, c := range map[string]struct {
		lists   [][]*workflowpb.WorkflowExecutionInfo
		failure map[string]error
		want    string
		fails   string
	}{
		"the first run": {lists: [][]*workflowpb.WorkflowExecutionInfo{{self()}}},
		"by its end": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			past("c", "b", 9), self()}}, want: "b"},
		"never began": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			past("c", "b", 9), self()}}, failure: map[string]error{"b": never}, want: "a"},
		"without messages": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			past("c", "mute", 9), self()}}, want: "a"},
		"deleted": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			self()}}, failure: map[string]error{"a": gone},
			want: "[note: this conversation has earlier runs, which the server has deleted; their content is not known]"},
		"refused": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			past("c", "refused", 9), self()}},
			failure: map[string]error{"refused": serviceerror.NewQueryFailed("x")}, want: "a"},
		"of another build": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			self()}}, failure: map[string]error{"a": serviceerror.NewQueryFailed("x")},
			fails: "activity error (type: switchyard/load_conversation, scheduledEventID: 0, startedEventID: 0, identity: ): query the run c (a) for its conversation: a worker of the current build could not replay the run: x; if another build executed it, make that one current again, or deploy a build that replays it: check with starter replay (type: wrapError, retryable: true): a worker of the current build could not replay the run: x; if another build executed it, make that one current again, or deploy a build that replays it: check with starter replay (type: wrapError, retryable: true): x (type: QueryFailed, retryable: true)"},
		"not listed yet": {lists: [][]*workflowpb.WorkflowExecutionInfo{{},
			{past("c", "a", 5), self()}}, want: "a"},
		"not closed yet": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 0),
			self()}, {past("c", "a", 5), self()}}, want: "a"},
		"it does not answer": {lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
			self()}}, failure: map[string]error{"a": errors.New("no worker")},
			fails: "activity error (type: switchyard/load_conversation, scheduledEventID: 0, startedEventID: 0, identity: ): query the run c (a) for its conversation: no worker (type: wrapError, retryable: true): no worker"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &listedRuns{lists: c.lists, failure: c.failure,
				texts: map[string][]api.Message{"a": {user("a")}, "b": {user("b")}}}
			r, texts, err := l.loadConversation(t, nil)
			switch {
			case c.fails != "":
				if err == nil || err.Error() != c.fails {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Fatal(err)
			case strings.Join(texts, "|") != c.want:
				t.Errorf("got %q, want %q", texts, c.want)
			}
			if c.want == "a" && (r.RunID != "a" || r.Turn != 7 || !slices.Equal(r.Labels,
				[]string{"untrusted"})) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// The last run is read without listing runs if it was looked up right before the start; otherwise
// another run may have ended since, or the clocks differ.
func TestLoadConversation_ListsRunsOnlyIfTheLastIsNotKnown(t *testing.T) {
	at := func(before time.Duration, runID string) *api.LastRun {
		return &api.LastRun{RunID: runID, At: started.Add(-before)}
	}
	for name, c := range map[string]struct {
		last   *api.LastRun
		want   string
		listed bool
	}{
		"known":         {at(20*time.Millisecond, "b"), "b", false},
		"none":          {at(20*time.Millisecond, ""), "", false},
		"not given":     {nil, "a", true},
		"long ago":      {at(time.Second, "b"), "a", true},
		"clock ahead":   {at(-time.Second, "b"), "a", true},
		"never started": {at(0, "never"), "a", true},
		"no messages":   {at(0, "mute"), "a", true},
		"deleted":       {at(0, "gone"), "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			l := &listedRuns{lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5),
				self()}}, texts: map[string][]api.Message{"a": {user("a")}, "b": {user("b")}},
				failure: map[string]error{"never": serviceerror.NewWorkflowNotReady("never began"),
					"gone": serviceerror.NewNotFound("gone")}}
			r, texts, err := l.loadConversation(t, c.last)
			if err != nil || strings.Join(texts, "|") != c.want || r.RunID != c.want {
				t.Errorf("got %q of %+v, %v", texts, r, err)
			}
			if listed := len(l.asked) > 0; listed != c.listed {
				t.Errorf("listed with %q", l.asked)
			}
		})
	}
}

// A quotation mark in an id does not change the query. With a backslash, which servers do not find,
// the list has runs of other conversations too.
func TestLoadConversation_FindsEveryID(t *testing.T) {
	for id, want := range map[string]string{
		"Ada's talk":       `WorkflowId = 'Ada\'s talk'`,
		`Ada's \ talk`:     `WorkflowId STARTS_WITH 'Ada\'s '`,
		`"Hello", he said`: `WorkflowId STARTS_WITH ''`,
	} {
		own := past(id, "default-test-run-id", 0)
		l := &listedRuns{lists: [][]*workflowpb.WorkflowExecutionInfo{{past(id, "a", 5),
			past(id+"s", "b", 9), own}}, texts: map[string][]api.Message{"a": {user("a")},
			"b": {user("b")}}}
		r, _, err := l.loadNamed(t, id, nil)
		if err != nil || len(l.asked) != 1 || r.RunID != "a" ||
			!strings.HasPrefix(l.asked[0], want+" AND WorkflowType") {
			t.Errorf("asked %q, loaded the run %q, %v", l.asked, r.RunID, err)
		}
	}
}

// Instructions are omitted, every call has an answer in its place, and turns are numbered from the
// highest one.
func TestLoad_AnswersEveryCall(t *testing.T) {
	asks := func(ids ...string) api.Message {
		m := api.Message{Role: api.RoleAssistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, api.Call{ID: id, Tool: "probe"})
		}
		return m
	}
	tool := func(id string) api.Message {
		return api.Message{Role: api.RoleTool, CallID: id, Text: "done"}
	}
	l := &listedRuns{lists: [][]*workflowpb.WorkflowExecutionInfo{{past("c", "a", 5), self()}},
		texts: map[string][]api.Message{"a": {
			{Role: api.RoleSystem, Text: "instructions"}, user("go"), asks("1.1", "1.2", "1.3"),
			tool("1.2"), user("on"), asks("12.1"), tool("12.1"), asks("x", "9.2")}}}
	r, _, err := l.loadConversation(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := codec.DecodeMessages(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range messages {
		got = append(got, fmt.Sprint(m.Role, m.CallID, m.Failed))
	}
	want := []string{"userfalse", "assistantfalse", "tool1.2false", "tool1.1true", "tool1.3true",
		"userfalse", "assistantfalse", "tool12.1false", "assistantfalse", "toolxtrue",
		"tool9.2true"}
	if !slices.Equal(got, want) || r.Turn != 12 {
		t.Errorf("turn %d, %q\nwant %q", r.Turn, got, want)
	}
}

// A too long conversation loses its oldest turns, with a note in their place. A turn that cannot be
// cut is omitted.
func TestContinued_FitsLimit(t *testing.T) {
	noise := func(n int) string {
		text := make([]byte, n)
		for i := range text {
			text[i] = byte('!' + rand.IntN(90))
		}
		return string(text)
	}
	var long []api.Message
	for range 100 {
		long = append(long, api.Message{Role: api.RoleAssistant,
			Calls: []api.Call{{ID: "1.1", Arguments: noise(1000)}}},
			api.Message{Role: api.RoleTool, CallID: "1.1", Text: noise(3000)})
	}
	for name, c := range map[string]struct {
		messages []api.Message
		snapshot func(n int) bool
	}{
		"short": {[]api.Message{user("a"), user("b")}, func(n int) bool { return n == 2 }},
		"long":  {long, func(n int) bool { return n > 20 && n < 100 && n%2 == 0 }},
		"huge": {[]api.Message{user("a"), user(noise(1 << 20))},
			func(n int) bool { return n == 0 }},
		"larger than can be decoded": {slices.Repeat([]api.Message{
			user(strings.Repeat("x", 1<<20))}, 40), func(n int) bool { return n > 10 && n < 32 }},
	} {
		data, dropped, err := encodeLatest(c.messages, 100<<10)
		if err != nil || len(data) > 100<<10 || !c.snapshot(len(c.messages)-dropped) {
			t.Errorf("%s: %d bytes, %d of %d dropped, %v", name, len(data), dropped,
				len(c.messages), err)
		}
		got, err := codec.DecodeMessages(data)
		if err != nil {
			t.Fatal(err)
		}
		if dropped > 0 && (!strings.HasPrefix(got[0].Text,
			fmt.Sprintf("[note: the %d oldest messages", dropped)) ||
			len(got) != len(c.messages)-dropped+1) {
			t.Errorf("%s: %d messages, the first is %q", name, len(got), display.Shorten(got[0].Text,
				100))
		}
	}
}

// Where a conversation is too long, the native forms of its messages go before any message does.
func TestLoad_DropsNativesBeforeMessages(t *testing.T) {
	noise := make([]byte, maxLoaded/2)
	for i := range noise {
		noise[i] = byte(rand.IntN(256))
	}
	items, err := json.Marshal(noise)
	if err != nil {
		t.Fatal(err)
	}
	past := pastConversation{messages: []api.Message{{Role: api.RoleUser, Text: "first"}}}
	for range 3 {
		past.messages = append(past.messages, api.Message{Role: api.RoleAssistant, Text: "a",
			Native: &api.Native{Items: items}}, api.Message{Role: api.RoleUser, Text: "on"})
	}
	loaded, err := past.toLoaded(&workflowpb.WorkflowExecutionInfo{})
	if err != nil || loaded.Dropped != 0 {
		t.Fatalf("%d messages dropped, %v", loaded.Dropped, err)
	}
	got, err := codec.DecodeMessages(loaded.Messages)
	if err != nil || len(got) != 7 || got[0].Text != "first" || got[1].Native != nil {
		t.Errorf("got %d messages, %v", len(got), err)
	}
}
