package interactions

import (
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// spec is a toolspec of these tests: an effect at the ledger, and the features that its calls use.
type spec struct {
	name   string
	effect api.Effect
	lane   string
	// batch is set if calls are batched, approval if they wait for one, spends if a rule about the
	// principal counts them, instance if an instance executes them.
	batch, approval, spends, instance bool
	// absent is on_absent of verify, and verifier the tool that verifies; empty for none. undo is
	// the tool that undoes.
	absent, verifier, undo string
}

// tools are the tools that models, plans and clients call. Those without agents are called by the
// generator; runs of the agents below call some of them as well.
var tools = []spec{
	{name: "pay", effect: api.EffectOnce, lane: "general", undo: "take_back"},
	{name: "pay_desk", effect: api.EffectOnce, lane: "general", undo: "take_back_desk"},
	{name: "pay_checked", effect: api.EffectOnce, lane: "general", absent: "report",
		verifier: "was_done", undo: "take_back_line"},
	{name: "pay_repeated", effect: api.EffectOnce, lane: "general", absent: "repeat",
		verifier: "was_done", undo: "take_back"},
	{name: "pay_checked_desk", effect: api.EffectOnce, lane: "general", absent: "report",
		verifier: "was_done_desk", undo: "take_back_desk"},
	{name: "pay_all", effect: api.EffectOnce, lane: "general", batch: true, undo: "take_back"},
	{name: "put", effect: api.EffectIdempotent, lane: "general", undo: "take_back"},
	{name: "put_all", effect: api.EffectIdempotent, lane: "general", batch: true,
		undo: "take_back_desk"},
	{name: "sign", effect: api.EffectOnce, lane: "general", approval: true, undo: "take_back"},
	{name: "sign_put", effect: api.EffectIdempotent, lane: "general", approval: true},
	{name: "pay_one", effect: api.EffectOnce, lane: "one", undo: "take_back"},
	{name: "put_pair", effect: api.EffectIdempotent, lane: "pair", undo: "take_back_desk"},
	{name: "pay_reject", effect: api.EffectOnce, lane: "desk", undo: "take_back_desk"},
	{name: "put_line", effect: api.EffectIdempotent, lane: "line", undo: "take_back_line"},
	{name: "pay_short", effect: api.EffectOnce, lane: "short", undo: "take_back"},
	{name: "pay_phone", effect: api.EffectOnce, lane: "phone", absent: "report",
		verifier: "was_done_desk", undo: "take_back_line"},
	{name: "spend", effect: api.EffectOnce, lane: "general", spends: true, undo: "take_back"},
	{name: "tally", effect: api.EffectIdempotent, lane: "general", instance: true},
	{name: "tally_once", effect: api.EffectOnce, lane: "general", instance: true},
	{name: "peek", effect: api.EffectRead, lane: api.LaneInline},
	{name: "look", effect: api.EffectRead, lane: "general"},
}

func toolNamed(name string) spec {
	for _, t := range tools {
		if t.name == name {
			return t
		}
	}
	return spec{name: name}
}

// lanes have limits that the witness checks. Most are keyed by a place that belongs to one
// scenario, so that a scenario waits for its own calls; one and pair are shared by all.
const lanes = `lanes:
  one: {limit: 1, lease: 4s}
  pair: {limit: 2, queue_size: 4, lease: 4s}
  desk: {key: "{{args.place}}", strategy: reject, lease: 4s}
  line: {key: "{{args.place}}", queue_size: 1, lease: 4s}
  short: {key: "{{args.place}}", queue_timeout: 400ms, lease: 4s}
  phone: {key: "{{args.place}}", lease: 4s}
`

var laneLimits = map[string]int{"one": 1, "pair": 2, "desk": 1, "line": 1, "short": 1, "phone": 1}

// The times of the tools.
const (
	toolTimeout = "1s"
	// absentAfter is longer than an attempt, which makes the second answer of a verifier final.
	// repeatAfter is the shortest that is allowed with on_absent: repeat.
	absentAfter = "2500ms"
	repeatAfter = "6s"
)

// spendLimit is what the calls of a principal may spend together; the sum of the amounts of its
// calls is larger in some scenarios.
const spendLimit = 100

// yaml returns the toolspec.
func (t spec) yaml() string {
	number := "  - {name: n, type: integer, required: true}\n"
	output := "{type: object, validation: {properties: [{name: n, type: integer, required: true}]}}"
	entry := "{type: function, handler: act}"
	switch {
	case t.batch:
		number = "  - {name: ns, type: array, required: true, validation: {items: {type: integer}}}\n"
		output = "{type: array, validation: {items: {type: integer}}}"
		entry = "{type: function, handler: act_all}"
	case t.instance:
		output = "{type: array, validation: {items: {type: integer}}}"
		entry = "{type: stateful, handler: tally, on_loss: recreate}"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `name: %s
version: 1.0.0
description: Has an effect at the ledger.
parameters:
%s  - {name: ways, type: array, required: true, validation: {items: {type: string}}}
  - {name: ms, type: integer, default: 0}
  - {name: place, type: string, required: true}
  - {name: note, type: string, default: ""}
  - {name: amount, type: integer, default: 0}
output: %s
entry: %s
execution: {%s}
`, t.name, number, output, entry, t.execution())
	if t.batch {
		b.WriteString("batch: {argument: ns, max: 3}\n")
	}
	if t.approval {
		b.WriteString("approval: always\n")
	}
	if t.undo != "" {
		fmt.Fprintf(&b, "undo: {tool: %s, arguments: {key: \"{{call.key}}\", place: "+
			"\"{{args.place}}\", note: \"{{args.note}}\"}}\n", t.undo)
	}
	if t.verifier != "" {
		wait := map[string]string{"report": absentAfter, "repeat": repeatAfter}[t.absent]
		fmt.Fprintf(&b, "verify: {tool: %s, arguments: {key: \"{{call.key}}\", place: "+
			"\"{{args.place}}\"}, done: done, result: receipt, settle_after: %s, on_absent: %s}\n",
			t.verifier, wait, t.absent)
	}
	return b.String()
}

func (t spec) execution() string {
	text := fmt.Sprintf("lane: %s, effect: %s, timeout: %s", t.lane, t.effect, toolTimeout)
	if t.lane != api.LaneInline {
		text += ", heartbeat: 2s"
	}
	if !t.instance && t.lane != api.LaneInline {
		text += ", access: shared"
	}
	if t.effect != api.EffectOnce {
		text += ", retry: {max_attempts: 3, initial_interval: 50ms, backoff: 1}"
	}
	return text
}

// ownTools are those that runs call themselves: to undo and to verify.
const ownTools = `---
name: take_backLANE
version: 1.0.0
description: Undoes an effect.
parameters:
  - {name: key, type: string, required: true}
  - {name: place, type: string, required: true}
  - {name: note, type: string, default: ""}
entry: {type: function, handler: take_back}
execution: {effect: idempotent, lane: ON, timeout: 1s, heartbeat: 2s,
  retry: {max_attempts: 3, initial_interval: 50ms, backoff: 1}}
---
name: was_doneLANE
version: 1.0.0
description: Says whether a call took effect.
parameters:
  - {name: key, type: string, required: true}
  - {name: place, type: string, required: true}
output:
  type: object
  validation:
    properties:
      - {name: done, type: boolean, required: true}
      - {name: receipt, type: object}
entry: {type: function, handler: was_done}
execution: {effect: read, lane: ON, timeout: 1s, heartbeat: 2s,
  retry: {max_attempts: 3, initial_interval: 50ms, backoff: 1}}
`

// helper is an agent that others call as a tool.
type helper struct {
	name  string
	calls []string
	// fails is set if its answer refers to what is not there, so that its run fails.
	fails bool
}

// helpers are the sub-agents. The numbers of their calls are the same in all runs; the run above
// distinguishes them.
var helpers = []helper{
	{name: "clerk", calls: []string{"pay", "put"}},
	{name: "cashier", calls: []string{"pay_repeated", "sign"}},
	{name: "bungler", calls: []string{"pay", "put_all"}, fails: true},
	{name: "manager", calls: []string{"clerk", "pay_desk"}},
}

// toolYAML is the toolspec of the sub-agent.
func (h helper) toolYAML() string {
	return fmt.Sprintf(`name: %s
version: 1.0.0
description: Makes calls.
parameters: [{name: n, type: integer, required: true}]
entry: {type: agent, agent: ../agents/%s.yaml, prompt: "Make your calls."}
`, h.name, h.name)
}

func (h helper) agentYAML() string {
	return fmt.Sprintf("name: %s\nmodel: {provider: scripted, script: %s.script.yaml}\ntools: [%s]\n",
		h.name, h.name, strings.Join(h.calls, ", "))
}

func (h helper) scriptYAML() string {
	var b strings.Builder
	b.WriteString("steps:\n  - calls:\n")
	for i, name := range h.calls {
		o := order{spec: toolNamed(name), n: 900 + i, ways: []string{wayOK}, place: "helpers"}
		if name == "pay_repeated" {
			o.ways = []string{wayHangBefore, wayOK}
		}
		fmt.Fprintf(&b, "      - {id: c%d, tool: %s, arguments: %s}\n", i, name, o.arguments())
	}
	answer := "done"
	if h.fails {
		answer = "${c0.nothing}"
	}
	return b.String() + "  - answer: " + answer + "\n"
}

// isHelper reports whether a tool is a sub-agent.
func isHelper(name string) bool {
	for _, h := range helpers {
		if h.name == name {
			return true
		}
	}
	return false
}

// specs returns all toolspecs as one file.
func specs() string {
	var all []string
	for _, t := range tools {
		all = append(all, t.yaml())
	}
	for _, h := range helpers {
		all = append(all, h.toolYAML())
	}
	text := strings.Join(all, "---\n")
	for suffix, lane := range map[string]string{"": "general", "_desk": "desk", "_line": "line"} {
		text += strings.NewReplacer("LANE", suffix, "ON", lane).Replace(ownTools)
	}
	return text
}

// policies returns the rules and budgets of the workers; poor are the principals with a budget that
// their runs use up.
func policies(poor []string) string {
	text := fmt.Sprintf(`policies:
  - {name: spending, tools: [spend], then: deny, message: the limit of the hour is %d,
     when: "principal.total('amount', '1h') > %d"}
`, spendLimit, spendLimit)
	if len(poor) > 0 {
		text += "budgets: [{name: hourly, period: hour, tokens: 600, principals: [" +
			strings.Join(poor, ", ") + "]}]\n"
	}
	return text
}
