package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/internal/value/visibility"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

const (
	// recentRuns is how many of the newest runs of a conversation are searched for the last one
	// with messages.
	recentRuns = 100
	// listedPace is the first interval, which doubles, and listedWithin the maximum time, of
	// listing runs until the list includes the newest: the server's visibility store lags behind.
	listedPace   = 100 * time.Millisecond
	listedWithin = 30 * time.Second
	// lastRunWithin bounds the time between the lookup of the last run and the start of the next.
	// Within it no other run of the conversation can start and end, unless it makes no real model
	// step. A larger difference may also be one of clocks, and the server's list decides.
	lastRunWithin = 500 * time.Millisecond
	// askWithin bounds one query to an earlier run.
	askWithin = 15 * time.Second
)

// Load implements the activity api.LoadConversationActivity: it returns the messages of a
// conversation's last run that has any, for the run for which ctx executes. That run's messages
// include those of all earlier runs. It lists runs only if the request does not say which one was
// the last, or if that has no messages. Its errors are the server's.
func (s *Store) Load(ctx context.Context,
	r api.LoadConversationRequest) (api.LoadedConversation, error) {
	if last, known := lastRunFromRequest(r); known {
		if last == nil {
			return api.LoadedConversation{}, nil
		}
		if loaded, err := s.firstWithMessages(ctx, last); err != nil || loaded.RunID != "" {
			return loaded, err
		}
	}
	runs, err := s.earlierRuns(ctx, r.Conversation)
	if err != nil {
		return api.LoadedConversation{}, err
	}
	return s.firstWithMessages(ctx, runs...)
}

// lastRunFromRequest returns the last run of the conversation as the request has it, nil if the
// server has
// none, and whether that is still known to be true.
func lastRunFromRequest(r api.LoadConversationRequest) (last *workflowpb.WorkflowExecutionInfo,
	known bool) {
	if r.LastRun == nil || r.Started.Sub(r.LastRun.At).Abs() > lastRunWithin {
		return nil, false
	}
	if r.LastRun.RunID == "" {
		return nil, true
	}
	return &workflowpb.WorkflowExecutionInfo{Execution: &commonpb.WorkflowExecution{
		WorkflowId: r.Conversation, RunId: r.LastRun.RunID}}, true
}

// firstWithMessages returns the conversation of the first of the runs that has any messages.
func (s *Store) firstWithMessages(ctx context.Context,
	runs ...*workflowpb.WorkflowExecutionInfo) (api.LoadedConversation, error) {
	gone := 0
	for _, run := range runs {
		past, err := s.queryConversation(ctx, run)
		if _, lost := errors.AsType[*serviceerror.NotFound](err); lost {
			gone++
			continue
		}
		if err != nil {
			return api.LoadedConversation{},
				fmt.Errorf("query the run %s (%s) for its conversation: %w",
					run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId(), err)
		}
		if len(past.messages) > 0 {
			return past.toLoaded(run)
		}
	}
	return nothingLoaded(gone)
}

// earlierRuns returns the agent runs of a conversation except the calling one, by descending end
// time.
func (s *Store) earlierRuns(ctx context.Context,
	conversation string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	self := activity.GetInfo(ctx).WorkflowExecution
	ctx, cancel := context.WithTimeout(ctx, listedWithin)
	defer cancel()
	for pace := listedPace; ; pace *= 2 {
		runs, err := s.listConversation(ctx, conversation)
		if err != nil {
			return nil, err
		}
		if others, current := otherRuns(runs, self.RunID); current {
			return others, nil
		}
		select {
		case <-time.After(pace):
		case <-ctx.Done():
			return nil, fmt.Errorf("the server's list of runs is not up to date after %s",
				listedWithin)
		}
	}
}

// otherRuns returns the runs of a list except one, in the order of earlierRuns. current reports
// that the list is up to date: it contains the calling run and no other running one.
func otherRuns(runs []*workflowpb.WorkflowExecutionInfo,
	runID string) (others []*workflowpb.WorkflowExecutionInfo, current bool) {
	for _, run := range runs {
		switch {
		case run.GetExecution().GetRunId() == runID:
			current = true
		case run.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			return nil, false
		default:
			others = append(others, run)
		}
	}
	slices.SortStableFunc(others, func(x, y *workflowpb.WorkflowExecutionInfo) int {
		return y.GetCloseTime().AsTime().Compare(x.GetCloseTime().AsTime())
	})
	return others, current
}

// listConversation lists the newest runs of a conversation, which have its id: recentRuns or a few
// more.
func (s *Store) listConversation(ctx context.Context,
	conversation string) ([]*workflowpb.WorkflowExecutionInfo, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: recentRuns,
		Query: visibility.In("WorkflowId", conversation) + " AND WorkflowType = '" +
			api.AgentWorkflow + "' AND ExecutionStatus != 'ContinuedAsNew'"}
	var runs []*workflowpb.WorkflowExecutionInfo
	for {
		page, err := s.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the runs of the conversation: %w", err)
		}
		for _, run := range page.GetExecutions() {
			if run.GetExecution().GetWorkflowId() == conversation {
				runs = append(runs, run)
			}
		}
		request.NextPageToken = page.GetNextPageToken()
		if len(runs) >= recentRuns || len(request.NextPageToken) == 0 {
			return runs, nil
		}
	}
}

// pastConversation is the conversation of an earlier run.
type pastConversation struct {
	messages []api.Message
	turn     int
	labels   []string
}

// queryConversation queries a closed run for its conversation, which is empty if the run never
// started
// or was refused.
func (s *Store) queryConversation(ctx context.Context,
	run *workflowpb.WorkflowExecutionInfo) (pastConversation, error) {
	var past pastConversation
	for {
		page, err := s.queryPage(ctx, run, len(past.messages))
		if neverStarted(err) || s.isRefused(ctx, run, err) {
			return pastConversation{}, nil
		}
		if err != nil {
			return pastConversation{}, err
		}
		past.messages, past.turn = append(past.messages, page.Messages.Value...), page.Turn
		past.labels = page.Labels
		if len(page.Messages.Value) == 0 || len(past.messages) >= page.Total {
			return past, nil
		}
	}
}

func (s *Store) queryPage(ctx context.Context, run *workflowpb.WorkflowExecutionInfo,
	from int) (page api.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	value, err := s.client.QueryWorkflow(ctx, run.GetExecution().GetWorkflowId(),
		run.GetExecution().GetRunId(), api.ConversationQuery, from)
	if err == nil {
		err = value.Get(&page)
	}
	if _, unread := errors.AsType[*serviceerror.QueryFailed](err); unread {
		err = fmt.Errorf("a worker of the current build could not replay the run: %w; if another "+
			"build executed it, make that one current again, or deploy a build that replays it: "+
			"check with starter replay", err)
	}
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("no worker of its task queue answered within %s; start one: %w", askWithin,
			err)
	}
	return page, err
}

// neverStarted reports whether a query failed because the run was closed before a worker started
// it.
func neverStarted(err error) bool {
	_, ok := errors.AsType[*serviceerror.WorkflowNotReady](err)
	return ok
}

// isRefused reports whether a run whose query failed with err had been refused before it did
// anything, as the server recorded it. One that could not load the conversation would otherwise be
// an earlier run that only its own build can replay, and after a rollback none could.
func (s *Store) isRefused(ctx context.Context, run *workflowpb.WorkflowExecutionInfo,
	err error) bool {
	if _, failed := errors.AsType[*serviceerror.QueryFailed](err); !failed {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	ended := s.client.GetWorkflow(ctx, run.GetExecution().GetWorkflowId(),
		run.GetExecution().GetRunId()).Get(ctx, nil)
	application, ok := errors.AsType[*temporal.ApplicationError](ended)
	return ok && application.Type() == string(api.RunInvalid)
}

// toLoaded returns the conversation for the next run: without the agent's instructions and with an
// answer to every call.
func (t pastConversation) toLoaded(
	run *workflowpb.WorkflowExecutionInfo) (api.LoadedConversation, error) {
	messages := slices.DeleteFunc(answerOpenCalls(t.messages),
		func(m api.Message) bool { return m.Role == api.RoleSystem })
	r := api.LoadedConversation{Turn: t.turn, WorkflowID: run.GetExecution().GetWorkflowId(),
		RunID: run.GetExecution().GetRunId(), Labels: t.labels}
	for _, m := range messages {
		for _, c := range m.Calls {
			r.Turn = max(r.Turn, api.CallTurn(c.ID))
		}
	}
	var err error
	r.Messages, r.Dropped, err = encodeLatest(messages, maxLoaded)
	if err == nil && r.Dropped > 0 {
		r.Messages, r.Dropped, err = encodeLatest(codec.WithoutNatives(messages), maxLoaded)
	}
	return r, err
}

// answerOpenCalls adds an answer for every call that had none when its run ended, after the other
// answers
// of its turn. Models reject a conversation with unanswered calls.
func answerOpenCalls(messages []api.Message) []api.Message {
	var whole []api.Message
	var open []api.Call
	end := func() {
		for _, c := range open {
			e := api.Errorf(api.ErrOutcomeUnknown, "the run ended before this call did")
			whole = append(whole, api.CallOutcome{ID: c.ID, Tool: c.Tool, Error: e}.Message())
		}
		open = nil
	}
	for _, m := range messages {
		if m.Role != api.RoleTool {
			end()
			open = slices.Clone(m.Calls)
		}
		open = slices.DeleteFunc(open, func(c api.Call) bool { return c.ID == m.CallID })
		whole = append(whole, m)
	}
	end()
	return whole
}

// maxLoaded bounds encoded messages, in bytes, so that they fit one payload as base64 with the
// other fields.
const maxLoaded = api.MaxPayload*3/4 - 4<<10

// encodeLatest encodes messages in at most limit bytes. If they do not fit, it omits the oldest
// turns,
// dropped messages in all, and adds a message that says so.
func encodeLatest(messages []api.Message, limit int) (data []byte, dropped int, err error) {
	rest := messages
	for {
		if dropped = len(messages) - len(rest); dropped > 0 {
			rest = append([]api.Message{leftOut(dropped)}, rest...)
		}
		data, err = codec.EncodeMessages(rest)
		size := len(data)
		if _, large := errors.AsType[*api.Error](err); large {
			size, err = 2*limit, nil // it is not compressed, so its size is unknown: omit half
		}
		if err != nil || size <= limit {
			return data, dropped, err
		}
		if dropped > 0 {
			rest = rest[1:]
		}
		rest = latest(rest, limit, size)
	}
}

// latest returns the last messages that fit into limit bytes, if all messages take encoded bytes,
// but never all of them. The first one is never an answer to a call.
func latest(messages []api.Message, limit, encoded int) []api.Message {
	total := 0
	for _, m := range messages {
		total += m.Size()
	}
	allowed := int(float64(total) * 0.9 * float64(limit) / float64(encoded))
	from := 0
	for from < len(messages) && (from == 0 || total > allowed ||
		messages[from].Role == api.RoleTool) {
		total -= messages[from].Size()
		from++
	}
	return messages[from:]
}

func leftOut(n int) api.Message {
	return api.Message{Role: api.RoleUser,
		Text: fmt.Sprintf("[note: the %d oldest messages of this conversation are omitted here, because the whole conversation is too long to carry over]",
			n)}
}

// nothingLoaded is the answer if no earlier run has messages; gone counts the listed runs that the
// server has already deleted.
func nothingLoaded(gone int) (api.LoadedConversation, error) {
	if gone == 0 {
		return api.LoadedConversation{}, nil
	}
	note := api.Message{Role: api.RoleUser,
		Text: "[note: this conversation has earlier runs, which the server has deleted; their content is not known]"}
	data, err := codec.EncodeMessages([]api.Message{note})
	return api.LoadedConversation{Messages: data}, err
}
