package policies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// pastFile is an earlier call in a case.
type pastFile struct {
	Tool string `yaml:"tool" rule:"required"`
	// Args is a mapping.
	Args json.RawMessage `yaml:"args"`
	// Ago is how long ago the call ended; a running call has not.
	Ago     api.Duration `yaml:"ago"`
	Running bool         `yaml:"running"`
	// Of is the scope in which the call counts; default both.
	Of string `yaml:"of" rule:"enum=principal|conversation"`
}

// earlier answers questions about the earlier calls of a case.
func (f caseFile) earlier() Earlier {
	return func(scope api.LedgerScope, q ledgerrules.Query) ledgerrules.Result {
		var entries []ledgerrules.Entry
		for _, p := range f.Past {
			if p.Of != "" && p.Of != string(scope) {
				continue
			}
			e := ledgerrules.Entry{Tool: p.Tool, Args: argumentsAt(p.Args, q.Fields),
				Reserved: noon.Add(-p.Ago.Std())}
			if !p.Running {
				e.Ended = e.Reserved
			}
			entries = append(entries, e)
		}
		return ledgerrules.Ask(entries, q, noon)
	}
}

// argumentsAt returns the arguments of a call that a query needs. Those that are no JSON object
// have none.
func argumentsAt(arguments json.RawMessage, fields []string) map[string]json.RawMessage {
	args := make(map[string]json.RawMessage, len(fields))
	for _, field := range fields {
		if value, err := argumentAt(arguments, field); err == nil && value != nil {
			args[field] = value
		}
	}
	return args
}

// pastRecords are the recorded calls that were made, by scope and whose they are.
type pastRecords map[string]*recordedPast

// recordedPast are calls in the order in which they were admitted.
type recordedPast struct {
	calls []*api.Record
	// latest is, for each call, the latest end of it and those before it.
	latest []time.Time
}

// pastKeys returns where a call counts, by scope.
func pastKeys(c *api.Record) map[api.LedgerScope]string {
	return map[api.LedgerScope]string{
		api.ScopePrincipalCalls:    "p" + string(c.Caller.Auth) + "\x00" + c.Caller.Identity(),
		api.ScopeConversationCalls: "c" + cmp.Or(c.Conversation, c.WorkflowID),
	}
}

// pastRecords returns the calls of all records that were made.
func (r *Replay) pastRecords() pastRecords {
	past := pastRecords{}
	for _, run := range r.order {
		for _, e := range run.executions {
			for i := range e.calls {
				past.add(&e.calls[i])
			}
		}
	}
	for _, p := range past {
		slices.SortStableFunc(p.calls, func(a, b *api.Record) int {
			return evaluationTime(a).Compare(evaluationTime(b))
		})
		var latest time.Time
		for _, c := range p.calls {
			if end := endTime(c); end.After(latest) {
				latest = end
			}
			p.latest = append(p.latest, latest)
		}
	}
	return past
}

func (p pastRecords) add(c *api.Record) {
	if c.Status == api.CallRefused || c.DryRun || !isGoverned(c) {
		return
	}
	for _, key := range pastKeys(c) {
		if p[key] == nil {
			p[key] = &recordedPast{}
		}
		p[key].calls = append(p[key].calls, c)
	}
}

// never is the end of calls that have not ended.
var never = time.Date(9999, time.January, 1, 0, 0, 0, 0, time.UTC)

func endTime(c *api.Record) time.Time {
	if c.Closed.IsZero() {
		return never
	}
	return c.Closed
}

// before answers what rules ask about the calls before one.
func (p pastRecords) before(c *api.Record) Earlier {
	at := evaluationTime(c)
	return func(scope api.LedgerScope, q ledgerrules.Query) ledgerrules.Result {
		var entries []ledgerrules.Entry
		past := p[pastKeys(c)[scope]]
		if past == nil {
			return ledgerrules.Ask(nil, q, at)
		}
		i, _ := slices.BinarySearchFunc(past.calls, at, func(one *api.Record, at time.Time) int {
			return evaluationTime(one).Compare(at)
		})
		// Calls that were admitted at the same time count if they are recorded before.
		for ; i < len(past.calls) && evaluationTime(past.calls[i]).Equal(at) &&
			past.calls[i] != c; i++ {
		}
		for i--; i >= 0 && at.Sub(past.latest[i]) < q.Within.Std(); i-- {
			one := past.calls[i]
			e := ledgerrules.Entry{Run: one.Run, Call: one.CallID, Tool: one.Tool,
				Reserved: evaluationTime(one), Args: argumentsAt(one.Arguments, q.Fields)}
			if !endTime(one).After(at) {
				e.Ended = endTime(one)
			}
			entries = append(entries, e)
		}
		slices.Reverse(entries)
		return ledgerrules.Ask(entries, q, at)
	}
}

// checkAsked reports what an expression at a path asks about earlier calls and cannot know: of
// unknown tools, and arguments that no tool takes or that are sensitive.
func (t Tools) checkAsked(doc *strictyaml.Document, at string, r rule, c *Condition) {
	for _, a := range c.asks {
		tools := a.query.Tools
		if a.ofRule || a.ofCall {
			tools = r.Tools
		}
		for _, tool := range tools {
			if _, there := t[tool]; !there && !a.ofRule && !a.ofCall {
				doc.Report(at, fmt.Sprintf("rule %q asks about calls of %q, and there is no such "+
					"tool", r.Name, tool), spelling.Hint(tool, slices.Sorted(maps.Keys(t))))
			}
		}
		if len(tools) == 0 {
			tools = slices.Sorted(maps.Keys(t))
		}
		t.checkFields(doc, at, r, a.query.Fields, tools)
	}
}

// checkFields reports arguments of earlier calls that rules cannot read.
func (t Tools) checkFields(doc *strictyaml.Document, at string, r rule, fields, tools []string) {
	taken, others := t.takes(tools)
	for _, field := range fields {
		name, _, _ := strings.Cut(field, ".")
		if !others && !slices.Contains(taken, name) {
			doc.Report(at, fmt.Sprintf("rule %q asks about the argument %s of earlier calls, which "+
				"none of its tools takes", r.Name, name), spelling.Hint(name, taken))
		}
		for _, tool := range tools {
			if slices.Contains(t[tool].Sensitive, name) {
				doc.Report(at, fmt.Sprintf("rule %q asks about the argument %s of earlier calls of "+
					"%s, which is sensitive: its values are not kept", r.Name, name, tool),
					"ask about another argument")
			}
		}
	}
}
