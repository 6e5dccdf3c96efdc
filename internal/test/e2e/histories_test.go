package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/histories"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
)

// updateHistories records the histories that workflows/replay_test.go replays, and the lines of
// their decisions, again if the decisions have changed:
//
//	SWITCHYARD_BIN=$PWD/bin go test ./internal/test/e2e -run TestHistories -update-histories
var updateHistories = flag.Bool("update-histories", false,
	"record workflows/testdata/histories again")

const historiesDir = "../../../workflows/testdata/histories"

// behaviour is one course of a run that every later version of the workflows has to replay.
type behaviour struct {
	name string
	// server has the server's flags; parts is the number of histories of the run, default one.
	server []string
	parts  int
	// below are the calls whose sub-agents' histories are recorded too.
	below []string
	run   func(l *lab) client.WorkflowRun
}

// withTools returns an agent with only some tools, so that its history stays readable.
func withTools(a *api.Agent, tools string) *api.Agent {
	a.Tools = strings.Fields(tools)
	return a
}

func named(id string, c api.ScriptCall) api.ScriptCall {
	c.ID = id
	return c
}

// grants runs an agent that requests more calls twice, with these search attributes.
func (l *lab) grants(id string, attributes ...string) client.WorkflowRun {
	l.t.Helper()
	a := withTools(appendTurns(5), "append")
	a.Limits = api.Limits{Calls: 2, OnReached: api.LimitAsks}
	run := l.run(api.AgentWorkflow, id, api.RunInput{Agent: a, Prompt: "Go.",
		Attributes: attributes})
	for range 2 {
		d := api.Decision{Call: api.LimitCall, Kind: api.DecisionApprove, By: "ada",
			Grant: &api.Grant{Calls: 2}}
		d.Digest = l.awaitApprovals(id, 1)[api.LimitCall].Digest
		if refused := l.decide(id, d); refused != "" {
			l.t.Fatalf("the grant is refused: %s", refused)
		}
	}
	return run
}

var behaviours = []behaviour{
	{name: "agent", run: func(l *lab) client.WorkflowRun {
		l.worker()
		malformed := api.ScriptCall{Tool: "append", ArgumentsText: `{"text":`}
		return l.runAgent("agent", withTools(agent(
			step(named("a", call("append", `{"text":"a"}`)), call("store", `{"text":"b"}`),
				call("store", `{"text":"c"}`),
				call("broken", `{}`), call("flaky", `{}`), call("nosuch", `{}`), malformed,
				call("append", `{"txet":1}`)),
			step(call("append", `{"text":"again ${a.text}"}`)),
			answer("done"),
		), "append store broken flaky"))
	}},
	{name: "conversation_instance", run: func(l *lab) client.WorkflowRun {
		l.workerIn(nil, "--tools", l.sessionTools(", scope: conversation, idle_timeout: 2s"))
		l.talk("talk", "x")
		list, err := audit.Instances(l.ctx, l.Client, "talk", "")
		if err != nil || len(list) != 1 {
			l.t.Fatalf("the conversation has the instances %+v, %v", list, err)
		}
		return l.Client.GetWorkflow(l.ctx, list[0].Keeper, "")
	}},
	{name: "agent_checked", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("store", `{"text":"a"}`)), answer("done")), "store")
		a.Checker = &api.Checker{Tool: "append",
			Arguments: json.RawMessage(`{"text": "{{args.prompt}} {{args.answer}}"}`)}
		return l.runAgent("agent_checked", a)
	}},
	{name: "agent_approvals", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.decisions("agent_approvals")
	}},
	{name: "agent_edit_dry", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("agent_edit_dry", guarded(step(call("publish", `{"text":"a"}`)),
			answer("done")))
		l.decide("agent_edit_dry", api.Decision{Call: "1.1", Kind: api.DecisionEdit,
			Digest: l.awaitApprovals("agent_edit_dry", 1)["1.1"].Digest, By: "ada",
			Arguments: []byte(
				`{"execution_plan":{"intent":"see what it would do","dry_run":true}}`)})
		return run
	}},
	{name: "agent_exclusive", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_exclusive", withTools(agent(
			step(call("tick_alone", `{"ms":1}`), call("tick", `{"ms":30}`),
				call("tick", `{"ms":1}`), call("tick_alone", `{"ms":1}`)),
			answer("done"),
		), "tick tick_alone"))
	}},
	{name: "agent_limit", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("append", `{"text":"a"}`), call("append", `{"text":"b"}`),
			call("append", `{"text":"c"}`))), "append")
		a.Limits = api.Limits{Calls: 2}
		return l.runAgent("agent_limit", a)
	}},
	{name: "agent_limit_granted", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=30"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.grants("agent_limit_granted")
	}},
	{name: "agent_attributes", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=30"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.grants("agent_attributes", api.AttributeOutcome, api.AttributeTools,
			api.AttributeWaiting, api.AttributeCalls)
	}},
	{name: "agent_limit_stop", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("append", `{"text":"a"}`)), answer("never")), "append")
		a.Limits = api.Limits{Calls: 1, OnReached: api.LimitStops}
		return l.runAgent("agent_limit_stop", a)
	}},
	{name: "agent_wall_time", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("hold_read", `{}`), call("tick_alone", `{"ms":1}`)),
			answer("never")), "hold_read tick_alone")
		a.Limits = api.Limits{WallTime: api.Duration(2 * time.Second)}
		return l.runAgent("agent_wall_time", a)
	}},
	{name: "agent_cancelled", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("agent_cancelled",
			withTools(agent(step(call("hold_read", `{}`), call("tick_alone", `{"ms":1}`)),
				answer("never")), "hold_read tick_alone"))
		l.awaitEntries(1)
		if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
			l.t.Fatal(err)
		}
		return run
	}},
	{name: "agent_continued", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=25"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(appendTurns(5), "append")
		a.Limits.WallTime = api.Duration(time.Hour)
		return l.runAgent("agent_continued", a)
	}},
	{name: "agent_compacted", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_compacted", compacting(5, 2000))
	}},
	{name: "agent_compacted_continued", parts: 4, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=30"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_compacted_continued", compacting(7, 2000))
	}},
	{name: "agent_overflow", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := compacting(5, 0)
		a.Model.Script.Value.Window = 2000
		return l.runAgent("agent_overflow", a)
	}},
	{name: "agent_repeats", run: func(l *lab) client.WorkflowRun {
		l.worker()
		broken := step(call("broken", `{}`))
		a := withTools(agent(broken, broken, broken, broken, answer("never")), "broken")
		a.Limits.Repeats = 2
		return l.runAgent("agent_repeats", a)
	}},
	{name: "agent_stuck", run: func(l *lab) client.WorkflowRun {
		l.worker()
		broken, good := step(call("broken", `{}`)), step(call("produce", `{"bytes":1}`))
		a := withTools(agent(broken, good, broken, good, broken, good, broken, answer("never")),
			"broken produce")
		a.Limits.Repeats = 2
		return l.runAgent("agent_stuck", a)
	}},
	{name: "agent_crash", run: func(l *lab) client.WorkflowRun {
		first := l.worker()
		run := l.runAgent("agent_crash",
			withTools(agent(step(call("hold_read", `{}`), call("hold_once", `{}`)), answer("done")),
				"hold_read hold_once"))
		l.awaitEntries(2)
		first.Kill()
		l.openGate()
		l.worker()
		return run
	}},
	{name: "agent_conversation", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("append", `{"text":"a"}`)), answer("done")), "append")
		in := api.RunInput{Agent: a, Prompt: "Go.", Conversation: "agent_conversation",
			Continue: true}
		l.result(l.run(api.AgentWorkflow, in.Conversation, in))
		return l.run(api.AgentWorkflow, in.Conversation, in)
	}},
	{name: "scheduled", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(answer("done")), "append")
		return l.run(api.ScheduledWorkflow, "scheduled", api.RunInput{Agent: a, Prompt: "Go.",
			Conversation: "talk", Continue: true})
	}},
	{name: "agent_inline", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := inlineTurns()
		a.Model.Lane, a.Limits.WallTime = "", api.Duration(time.Hour)
		return l.runAgent("agent_inline", a)
	}},
	{name: "agent_inline_steps", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := inlineTurns()
		a.Limits.Turns = 5
		return l.runAgent("agent_inline_steps", a)
	}},
	{name: "agent_inline_continued", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=25"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		one := step(call("in_append", `{"text":"a"}`), call("append", `{"text":"b"}`))
		return l.runAgent("agent_inline_continued", allInline(one, one, one, one, one, one, one,
			answer("done")))
	}},
	{name: "plan_inline", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPlan("plan_inline", api.Plan{Name: "inline", Calls: []api.PlanCall{
			{ID: "first", Tool: "in_append", Arguments: []byte(`{"text":"a"}`)},
			{ID: "then", Tool: "append", Arguments: []byte(`{"text":"${first.text} b"}`)},
			{ID: "last", Tool: "in_append", Arguments: []byte(`{"text":"${then.text} c"}`)},
		}})
	}},
	{name: "agent_stateful", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_stateful", counting("counter other_counter append",
			step(call("counter", `{}`), call("counter", `{"by":10}`), call("other_counter", `{}`),
				call("append", `{"text":"a"}`)),
			step(add("n", "counter", `{}`)), answer("${n}")))
	}},
	{name: "agent_stateful_continued", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=25"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		one := step(call("counter", `{}`))
		return l.runAgent("agent_stateful_continued", counting("counter", one, one, one, one, one,
			answer("done")))
	}},
	{name: "plan_stateful_lost", run: func(l *lab) client.WorkflowRun {
		l.worker("--lanes", "general")
		holder := l.worker("--lanes", "serial")
		run := l.runPlan("plan_stateful_lost",
			api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "brittle_counter"},
				{ID: "blocked", Tool: "hold_read", DependsOn: []string{"a"}},
				{ID: "b", Tool: "brittle_counter", DependsOn: []string{"blocked"}}}})
		l.awaitEntries(3)
		holder.Kill()
		l.await("for the run to notice the loss",
			func() bool { _, noticed := l.lossNoticed(run); return noticed })
		l.openGate()
		return run
	}},
	{name: "call_stateful", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runCall("call_stateful", "counter", `{"by":1}`)
	}},
	{name: "agent_invalid", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_invalid", withTools(agent(answer("never")), "append nosuch"))
	}},
	{name: "agent_model_failed", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_model_failed",
			withTools(agent(step(call("append", `{"text":"a"}`))), "append"))
	}},
	{name: "plan", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPlan("plan", api.Plan{Name: "diamond", Calls: []api.PlanCall{
			{ID: "first", Tool: "append", Arguments: []byte(`{"text":"a"}`)},
			{ID: "left", Tool: "store", Arguments: []byte(`{"text":"left of ${first.text}"}`)},
			{ID: "right", Tool: "store", Arguments: []byte(`{"text":"right of ${first.text}"}`)},
			{ID: "end", Tool: "append", Arguments: []byte(`{"text":"${left} and ${right.text}"}`)},
		}, Output: []byte(`{"all":"${end.text}"}`)})
	}},
	{name: "plan_failed", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPlan("plan_failed", api.Plan{Calls: []api.PlanCall{
			{ID: "good", Tool: "append", Arguments: []byte(`{"text":"a"}`)},
			{ID: "bad", Tool: "broken", DependsOn: []string{"good"}},
			{ID: "after", Tool: "append", Arguments: []byte(`{"text":"${bad}"}`)},
			{ID: "other", Tool: "append", Arguments: []byte(`{"text":"${good.text}"}`)},
		}})
	}},
	{name: "agent_undone", run: func(l *lab) client.WorkflowRun {
		return cancelledBookings(l,
			"agent_undone")
	}},
	{name: "agent_verified", run: func(l *lab) client.WorkflowRun {
		return paying(l,
			"agent_verified", "true")
	}},
	{name: "agent_verified_again", run: func(l *lab) client.WorkflowRun {
		return paying(l,
			"agent_verified_again", "false")
	}},
	{name: "plan_undone", run: func(l *lab) client.WorkflowRun {
		return lateBookings(l,
			"plan_undone")
	}},
	{name: "plan_cancelled", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runPlan("plan_cancelled", api.Plan{Calls: []api.PlanCall{
			{ID: "blocked", Tool: "hold_read"}, {ID: "after", Tool: "append",
				Arguments: []byte(`{"text":"${blocked}"}`)}}})
		l.awaitEntries(1)
		if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
			l.t.Fatal(err)
		}
		return run
	}},
	{name: "agent_sub_agents", below: []string{"1.1", "2.1", "2.1/1.1"},
		run: func(l *lab) client.WorkflowRun {
			l.worker()
			return l.runAgent("agent_sub_agents",
				withTools(agent(step(named("w", call("writer", `{"about":"a"}`))),
					step(named("e", call("editor", `{"about":"b"}`))),
					step(call("guesser", `{}`)), answer("${w}; ${e}")), "writer editor guesser"))
		}},
	{name: "agent_sub_agent_budget", below: []string{"1.1"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := withTools(agent(step(call("clerk", `{}`))), "clerk")
		a.Limits = api.Limits{Calls: 3}
		return l.runAgent("agent_sub_agent_budget", a)
	}},
	{name: "agent_sub_agent_timeout", below: []string{"1.1"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_sub_agent_timeout", withTools(agent(step(call("hurried", `{}`)),
			step(call("failing", `{}`)), answer("done")), "hurried failing"))
	}},
	{name: "agent_sub_agent_cancelled", below: []string{"1.1"},
		run: func(l *lab) client.WorkflowRun {
			l.worker()
			run := l.runAgent("agent_sub_agent_cancelled",
				withTools(agent(step(call("holder", `{}`)), answer("never")), "holder"))
			l.awaitEntries(2)
			if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
				l.t.Fatal(err)
			}
			return run
		}},
	{name: "plan_sub_agent", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPlan("plan_sub_agent", api.Plan{Calls: []api.PlanCall{
			{ID: "first", Tool: "writer", Arguments: []byte(`{"about":"a plan"}`)},
			{ID: "then", Tool: "append", Arguments: []byte(`{"text":"it ${first}"}`)},
		}})
	}},
	{name: "call", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runCall("call", "append", `{"text":"a"}`)
	}},
	{name: "session", run: func(l *lab) client.WorkflowRun {
		l.worker()
		s := l.session("session")
		l.made(s, api.SessionCall{ID: "a", Tool: "append", Arguments: `{"text":"a"}`})
		l.made(s, api.SessionCall{ID: "again", Tool: "append", Arguments: `{"text":"a"}`})
		l.made(s, api.SessionCall{ID: "bad", Tool: "append", Arguments: `{"text":1}`})
		l.made(s, api.SessionCall{ID: "none", Tool: "absent", Arguments: `{}`})
		l.must(s.End(l.ctx, api.EndSession{By: "ana", Reason: "done"}))
		return l.Client.GetWorkflow(l.ctx, "session", "")
	}},
	{name: "plan_invalid", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPlan("plan_invalid", api.Plan{Calls: []api.PlanCall{
			{ID: "good", Tool: "append", Arguments: []byte(`{"text":"a"}`)},
			{ID: "bad", Tool: "append", Arguments: []byte(`{"text":1}`)}}})
	}},
	{name: "call_failed", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runCall("call_failed", "broken", "")
	}},
	{name: "human", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("human", withTools(agent(
			step(call("budget", `{"for":"glue","card":"4711"}`),
				call("append", `{"text":"beside"}`)),
			step(call("ask", `{"question":"May I?"}`)),
			answer("done"),
		), "ask budget append"))
		l.awaitQuestions("human", 1)
		l.awaitEntries(1)
		l.reply("human", value("1.1", "alice", `{"amount":1000}`))
		l.reply("human", value("1.1", "alice", `{"amount":100}`))
		l.decline("human", "2.1")
		return run
	}},
	{name: "human_timeout", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("human_timeout",
			withTools(agent(step(call("hurry", `{}`)), answer("done")), "hurry"))
	}},
	{name: "human_cancelled", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runAgent("human_cancelled",
			withTools(agent(step(call("ask", `{"question":"May I?"}`)), answer("never")), "ask"))
		l.awaitQuestions("human_cancelled", 1)
		l.cancel("human_cancelled")
		return run
	}},
	{name: "call_human", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runCall("call_human", "ask", `{"question":"May I?"}`)
		l.awaitQuestions("call_human", 1)
		l.reply("call_human", value("1.1", "alice", `"yes"`))
		return run
	}},
	{name: "call_asks", run: func(l *lab) client.WorkflowRun {
		l.worker()
		run := l.runCall("call_asks", "inquire_twice", `{}`)
		l.awaitQuestions("call_asks", 1)
		l.reply("call_asks", value("1.1/1", "alice", `7`))
		l.reply("call_asks", value("1.1/1", "alice", `"yes"`))
		l.await("for the second question",
			func() bool { q := l.questions("call_asks"); return len(q) == 1 && q[0].ID == "1.1/2" })
		l.reply("call_asks", api.Reply{Question: "1.1/2", By: "bob", Decline: true,
			Reason: "enough"})
		return run
	}},
	{name: "agent_hooks", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_hooks", hooked(
			step(named("a", call("append", `{"text":"cheap"}`)),
				call("append", `{"text":"forbidden"}`), call("append", `{"text":"known"}`)),
			answer("${a.text}")))
	}},
	{name: "agent_hooks_continued", parts: 3, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=25"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := appendTurns(3)
		a.Tools, a.Hooks = []string{"append"}, hooked().Hooks
		return l.runAgent("agent_hooks_continued", a)
	}},
	{name: "agent_hooks_refused", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := hooked(answer("never"))
		a.Name = "refused"
		return l.runAgent("agent_hooks_refused", a)
	}},
	{name: "agent_hooks_cancelled", run: func(l *lab) client.WorkflowRun {
		l.worker()
		a := hooked(step(call("hold_read", `{}`)), answer("never"))
		a.Tools = append(a.Tools, "hold_read")
		run := l.runAgent("agent_hooks_cancelled", a)
		l.awaitEntries(1)
		l.cancel("agent_hooks_cancelled")
		return run
	}},
	{name: "agent_policies", parts: 2, server: []string{"--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=25"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_policies", sealed())
	}},
	{name: "plan_priorities", below: []string{"below"}, run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runPriorities("plan_priorities")
	}},
	{name: "call_bypass", run: func(l *lab) client.WorkflowRun {
		l.laneWorker()
		return l.runCall("call_bypass", "stamp", `{"text":"a"}`)
	}},
	{name: "call_requeued", run: func(l *lab) client.WorkflowRun {
		l.laneWorker("--lanes", "general")
		l.requeues(2)
		return l.runCall("call_requeued", "given", `{"text":"a"}`)
	}},
	{name: "agent_keys", run: func(l *lab) client.WorkflowRun {
		l.laneWorker()
		return l.runAgent("agent_keys", withTools(agent(step(call("press", `{"text":"one"}`)),
			answer("done")), "press"))
	}},
	{name: "call_refused", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runCall("call_refused", "append", `{"txet":"a"}`)
	}},
}

// compacting is an agent that finds a code in its first turn, reads texts of 2,000 bytes in as many
// turns as given, and answers with the code. window is that of its model in tokens; zero hides it.
func compacting(turns, window int) *api.Agent {
	steps := []api.ScriptStep{step(named("code", call("append", `{"text":"4711"}`)))}
	for range turns {
		steps = append(steps, step(call("produce", `{"bytes":2000}`)))
	}
	a := withTools(agent(append(steps, answer("the code is ${code.text}"))...), "append produce")
	a.Model.Window, a.Limits.Turns = window, 2*turns+10
	return a
}

// inlineTurns is an agent that calls inline tools with every kind of end, always in the same order.
func inlineTurns() *api.Agent {
	return allInline(
		step(named("a", call("in_append", `{"text":"a"}`))),
		step(call("in_broken", `{}`)), step(call("in_flaky", `{}`)),
		step(call("in_tick", `{"ms":1}`), call("in_tick", `{"ms":300}`),
			call("in_append", `{"txt":1}`)),
		step(call("in_append", `{"text":"again ${a.text}"}`), call("append", `{"text":"beside"}`)),
		answer("done"))
}

func (l *lab) runPlan(id string, p api.Plan) client.WorkflowRun {
	l.t.Helper()
	packed := api.Pack(p)
	return l.run(api.PlanWorkflow, id, api.RunInput{Plan: &packed})
}

func (l *lab) runCall(id, tool, arguments string) client.WorkflowRun {
	l.t.Helper()
	return l.run(api.CallWorkflow, id,
		api.RunInput{Call: &api.Call{Tool: tool, Arguments: arguments}})
}

// Each behaviour takes, on a real server, the decisions of its golden lines: which activities with
// which ids, inputs, lanes and timeouts, in which order, and how the run ends. The workflow cache
// is off, so every workflow task is a replay. Package workflows replays the recorded histories.
func TestHistories_DecideAsRecorded(t *testing.T) {
	for i, b := range slices.Concat(behaviours, controlled, accountable) {
		if testing.Short() && i%3 > 0 {
			continue // make test/e2e has them all; what is recorded of all is replayed by make test
		}
		t.Run(b.name, func(t *testing.T) {
			l := newLab(t, b.server...)
			l.cacheless = l.cacheless || !*updateHistories
			run := b.run(l)
			first := run.GetRunID()
			_ = run.Get(l.ctx, nil) // the lines contain the end of the run
			l.checkChain(b.name, run.GetID(), first, max(b.parts, 1))
			for _, call := range b.below {
				l.checkChain(b.name+"_"+strings.ReplaceAll(call, "/", "_"),
					api.ChildWorkflowID(run.GetID(), call), "", 1)
			}
		})
	}
}

// checkChain compares the decisions of a run's histories with those recorded under a name.
func (l *lab) checkChain(name, id, first string, parts int) {
	l.t.Helper()
	chain := l.histories(id, first)
	if len(chain) != parts {
		l.t.Fatalf("%s has %d histories, want %d", id, len(chain), parts)
	}
	for i, h := range chain {
		path := filepath.Join(historiesDir, name)
		if len(chain) > 1 {
			path += fmt.Sprint(".", i+1)
		}
		checkLines(l.t, path, h)
	}
}

// checkLines compares the decisions of a history with the golden lines. If they differ or are
// missing, -update-histories records both. A history with equal decisions stays as an earlier
// version recorded it.
func checkLines(t *testing.T, path string, h *historypb.History) {
	t.Helper()
	lines := strings.Join(histories.Lines(h), "\n") + "\n"
	golden, err := os.ReadFile(path + ".txt")
	switch {
	case err == nil && lines == string(golden):
	case *updateHistories:
		if err := histories.Write(path, h); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".txt", []byte(lines), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Fatal(err)
	default:
		t.Errorf("%s.txt differs; if the change is intended, record it again (see updateHistories):\n%s",
			path, lines)
	}
}
