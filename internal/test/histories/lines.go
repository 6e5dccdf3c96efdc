package histories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/display"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// shown bounds a payload in a line, in characters.
const shown = 400

// Lines returns the decisions of a history's workflow, one line each: activities with ID, input,
// lane and timeouts, results of local activities, updates, timers, and the end. It masks run IDs,
// times and digests, so that two runs of one behaviour have the same lines.
func Lines(h *historypb.History) []string {
	s := script{names: map[int64]string{}}
	for _, event := range h.GetEvents() {
		if line := s.line(event); line != "" {
			s.lines = append(s.lines, line)
		}
	}
	return s.lines
}

type script struct {
	base string
	// names are the activities by the ID of the event that scheduled them.
	names map[int64]string
	lines []string
}

func (s *script) line(event *historypb.HistoryEvent) string {
	switch {
	case event.GetWorkflowExecutionStartedEventAttributes() != nil:
		a := event.GetWorkflowExecutionStartedEventAttributes()
		s.base = a.GetTaskQueue().GetName()
		return "started " + a.GetWorkflowType().GetName() + " " + payloads(a.GetInput())
	case event.GetMarkerRecordedEventAttributes() != nil:
		return marker(event)
	case event.GetActivityTaskScheduledEventAttributes() != nil:
		return s.activity(event.GetEventId(), event.GetActivityTaskScheduledEventAttributes())
	case event.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil:
		update := event.GetWorkflowExecutionUpdateAcceptedEventAttributes()
		input := update.GetAcceptedRequest().GetInput()
		return "update " + input.GetName() + " " + payloads(input.GetArgs())
	case event.GetActivityTaskCancelRequestedEventAttributes() != nil:
		return "cancel " +
			s.names[event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()]
	case event.GetStartChildWorkflowExecutionInitiatedEventAttributes() != nil:
		a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		return fmt.Sprintf("start %s %s %s%s %s", a.GetWorkflowId(), a.GetWorkflowType().GetName(),
			a.GetParentClosePolicy(), priority(a.GetPriority()), payloads(a.GetInput()))
	case event.GetRequestCancelExternalWorkflowExecutionInitiatedEventAttributes() != nil:
		return "cancel " +
			event.GetRequestCancelExternalWorkflowExecutionInitiatedEventAttributes().
				GetWorkflowExecution().GetWorkflowId()
	case event.GetTimerStartedEventAttributes() != nil:
		return timer(event.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
	}
	return cmp.Or(attributes(event), ending(event))
}

// attributes returns the search attributes that the run sets, except the SDK's own.
func attributes(event *historypb.HistoryEvent) string {
	upsert := event.GetUpsertWorkflowSearchAttributesEventAttributes()
	fields := upsert.GetSearchAttributes().GetIndexedFields()
	line := ""
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "TemporalChangeVersion" {
			line += " " + name + "=" + string(fields[name].GetData())
		}
	}
	if line == "" {
		return ""
	}
	return "attributes" + line
}

// marker returns the result or the failure of a local activity, entries of the journal, or the
// version of a change.
func marker(event *historypb.HistoryEvent) string {
	switch a := event.GetMarkerRecordedEventAttributes(); a.GetMarkerName() {
	case "Version":
		return "version " + payloads(a.GetDetails()["change-id"]) + " " +
			payloads(a.GetDetails()["version"])
	case "SideEffect":
		return "journal " + payloads(a.GetDetails()["data"])
	}
	details, failure := event.GetMarkerRecordedEventAttributes().GetDetails(),
		event.GetMarkerRecordedEventAttributes().GetFailure()
	kind := localActivity.FindStringSubmatch(string(details["data"].GetPayloads()[0].GetData()))[1]
	line := "recorded " + kind + " "
	var summary string
	ranInline := kind == api.ModelActivity || !strings.Contains(kind, "/") // as tools are named
	if data := event.GetUserMetadata().GetSummary().GetData(); ranInline && json.Unmarshal(data,
		&summary) == nil {
		line += api.InlineID(summary) + " "
	}
	if failure != nil {
		return line + "failed " + failure.GetApplicationFailureInfo().GetType() + " " +
			mask(failure.GetMessage())
	}
	return strings.TrimSpace(line + payloads(details["result"]))
}

// timer rounds a duration, because the remainder of a limit differs from run to run.
func timer(d time.Duration) string {
	if d > time.Minute {
		return "timer " + d.Round(time.Minute).String()
	}
	return "timer " + d.Round(time.Second).String()
}

func (s *script) activity(id int64, a *historypb.ActivityTaskScheduledEventAttributes) string {
	name := mask(a.GetActivityId()) + " " + a.GetActivityType().GetName()
	s.names[id] = name
	wait := ""
	if d := a.GetScheduleToStartTimeout().AsDuration(); d > 0 {
		wait = fmt.Sprintf(" wait=%s", d)
	}
	return fmt.Sprintf("schedule %s lane=%s timeout=%s heartbeat=%s attempts=%d%s%s %s", name,
		queues.LaneName(s.base, a.GetTaskQueue().GetName()),
		a.GetStartToCloseTimeout().AsDuration(),
		a.GetHeartbeatTimeout().AsDuration(), a.GetRetryPolicy().GetMaximumAttempts(), wait,
		priority(a.GetPriority()), payloads(a.GetInput()))
}

// priority returns the level and the fairness key. The key of a run without a conversation is part
// of its ID and is omitted.
func priority(p *commonpb.Priority) string {
	text := ""
	if level := p.GetPriorityKey(); level > 0 {
		text = fmt.Sprintf(" priority=%d", level)
	}
	if key := p.GetFairnessKey(); key != "" && !runPart.MatchString(key) {
		text += " fairness=" + key
	}
	return text
}

// runPart matches the first part of a run's ID.
var runPart = regexp.MustCompile(`^[0-9a-f]{8}$`)

func ending(event *historypb.HistoryEvent) string {
	switch {
	case event.GetWorkflowExecutionCompletedEventAttributes() != nil:
		return "completed " +
			payloads(event.GetWorkflowExecutionCompletedEventAttributes().GetResult())
	case event.GetWorkflowExecutionFailedEventAttributes() != nil:
		f := event.GetWorkflowExecutionFailedEventAttributes().GetFailure()
		return "failed " + f.GetApplicationFailureInfo().GetType() + " " + mask(f.GetMessage())
	case event.GetWorkflowExecutionCanceledEventAttributes() != nil:
		return "cancelled"
	case event.GetWorkflowExecutionContinuedAsNewEventAttributes() != nil:
		a := event.GetWorkflowExecutionContinuedAsNewEventAttributes()
		return "continued " + a.GetWorkflowType().GetName() + " " + payloads(a.GetInput())
	}
	return ""
}

func payloads(p *commonpb.Payloads) string {
	var texts []string
	for _, one := range p.GetPayloads() {
		switch string(one.GetMetadata()["encoding"]) {
		case "binary/plain":
			texts = append(texts, "<bytes>")
		case "binary/null":
		default:
			texts = append(texts, display.Shorten(mask(string(one.GetData())), shown))
		}
	}
	return strings.Join(texts, " ")
}

var localActivity = regexp.MustCompile(`"ActivityType":"([^"]*)"`)

// masks replace what differs between two runs of one behaviour.
var masks = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "RUN"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)`), "TIME"},
	{regexp.MustCompile(`"(digest|catalog|chain|trace)":"[^"]*"`), `"$1":"…"`},
	{regexp.MustCompile(`"(gzip)":"[^"]*"`), `"$1":"…"`},
	{regexp.MustCompile(`,"fairness":"[0-9a-f]{8}"`), ``},
	// The statistics repeat what other lines show.
	{regexp.MustCompile(`,"call_stats":\{[^{}]*(\{[^{}]*\}[^{}]*)*\}`), ``},
	// The name of an MCP session ends with a digest of how its server is reached, such as the path
	// of the test's binary. Generations in a conversation begin with the time in seconds.
	{regexp.MustCompile(`(\bmcp-[\w.-]+)-[0-9a-f]{8}\b`), `${1}-…`},
	{regexp.MustCompile(`"generation":\d{10}`), `"generation":TIME`},
	{regexp.MustCompile(`"(execution_us|post_us)":\d+`), `"$1":0`},
	// The number of tokens of a run ID differs from run to run.
	{regexp.MustCompile(`("RUN/[^{}]*\},"tokens":)\d+`), `${1}0`},
}

// fresh matches the digests of the messages that a model step has not seen. Their number is a
// decision.
var fresh = regexp.MustCompile(`"new":\[([^\]]*)\]`)

func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.replacement)
	}
	return fresh.ReplaceAllStringFunc(text, func(list string) string {
		return fmt.Sprintf(`"new":[%d]`, strings.Count(list, ",")+1)
	})
}
