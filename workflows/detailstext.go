package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/smallmap"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

const (
	// maxDetails bounds the current details, in bytes.
	maxDetails = 4 << 10
	// maxListed bounds the listed approvals and questions, maxToolsListed the listed tools, each.
	maxListed      = 5
	maxToolsListed = 8
	// maxDetailsText bounds the text of one listed item, maxDetailsEnd that of the run's end, in
	// characters.
	maxDetailsText = 200
	maxDetailsEnd  = 800
	// moreReserve is the space reserved for the line that says what is omitted.
	moreReserve = 300
)

// hardBreak ends a line within a paragraph of Markdown.
const hardBreak = "  \n"

// detailsText is Markdown of at most maxDetails bytes.
type detailsText struct{ strings.Builder }

// line adds a paragraph and reports whether it fit.
func (t *detailsText) line(text string) bool { return t.add(text, maxDetails) }

func (t *detailsText) add(text string, limit int) bool {
	if text == "" {
		return true
	}
	if t.Len() > 0 {
		text = "\n\n" + text
	}
	if t.Len()+len(text) > limit {
		return false
	}
	t.WriteString(text)
	return true
}

// text returns the details of a run that has not ended.
func (d *details) text(info *workflow.Info) string {
	t := &detailsText{}
	lines := []string{d.state(), d.describeUsage()}
	if named := d.underWay(); named != "" {
		lines = append(lines, named)
	}
	t.line(strings.Join(lines, hardBreak))
	d.listApprovals(t, info)
	d.listQuestions(t, info)
	return t.String()
}

// state describes what the run does or waits for.
func (d *details) state() string {
	p := d.pipeline
	var parts []string
	if p.control.paused != nil {
		parts = append(parts, "**Paused** "+
			plainMarkdown(strings.TrimPrefix(people.PauseNote(*p.control.paused), "paused "), maxDetailsText))
	}
	if p.sizes.History.Undoing {
		parts = append(parts, "**Undoes** what it has done")
	}
	parts = append(parts, d.waitsFor()...)
	switch running := p.runFacts.Running; {
	case running > 0:
		parts = append(parts, "**Runs** "+formatCount(running, "call"))
	case len(parts) > 0:
	case d.agent && p.runFacts.Open() == 0:
		parts = append(parts, "**Waits for its model**")
	case d.session && p.runFacts.Open() == 0:
		parts = append(parts, "**Waits for calls** of its client")
	default:
		parts = append(parts, "**Checks its calls**")
	}
	return strings.Join(parts, " · ")
}

// waitsFor describes what the run needs from people.
func (d *details) waitsFor() (parts []string) {
	open := d.pipeline.control.approvals.open
	switch n := len(open); {
	case n == 1 && open[0].Limit != "":
		parts = append(parts, "**Waits for approval** at its limit of "+plainMarkdown(open[0].Limit,
			maxDetailsText))
	case n > 0:
		parts = append(parts, "**Waits for approval** of "+formatCount(n, "call"))
	}
	if n := len(d.pipeline.questions.open); n > 0 {
		parts = append(parts, "**Waits for an answer** to "+formatCount(n, "question"))
	}
	return parts
}

// formatCount returns a number of things in words.
func formatCount(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// describeUsage describes the run's usage and its limits.
func (d *details) describeUsage() string {
	l, u := d.pipeline.Limits, d.pipeline.usage
	var parts []string
	of := func(what, used, limit string) {
		if part := what + " " + used; limit == "" {
			parts = append(parts, part)
		} else {
			parts = append(parts, part+" of "+limit)
		}
	}
	if d.agent {
		of("turn", strconv.Itoa(d.pipeline.turn-d.before),
			strconv.Itoa(cmp.Or(l.Turns, api.DefaultTurns)))
	}
	of("calls", strconv.Itoa(u.Calls), formatLimit(l.Calls))
	if u.Failed > 0 {
		parts[len(parts)-1] += ", " + strconv.Itoa(u.Failed) + " failed"
	}
	if tokens := u.InputTokens + u.OutputTokens; d.agent || tokens > 0 {
		of("tokens", strconv.Itoa(tokens), formatLimit(l.Tokens))
	}
	if u.Cost > 0 || l.Cost > 0 {
		of("US dollars", fmt.Sprintf("%.4g", u.Cost), formatLimit(l.Cost))
	}
	if l.WallTime > 0 {
		parts = append(parts, "until "+moment(d.pipeline.Started.Add(l.WallTime.Std())))
	}
	return strings.Join(parts, " · ")
}

// formatLimit returns a limit in words; empty for none.
func formatLimit[N int | float64](limit N) string {
	if limit <= 0 {
		return ""
	}
	return fmt.Sprint(limit)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// underWay names the tools of the calls that run and of those that wait for other calls, history
// budget or a person.
func (d *details) underWay() string {
	var lines []string
	for _, list := range []struct {
		name  string
		count func(turn.UnderWay) int
	}{{"running", func(u turn.UnderWay) int { return u.Running }},
		{"waiting", func(u turn.UnderWay) int { return u.Waiting }}} {
		if named := toolCounts(&d.pipeline.runFacts.Tools, list.count); named != "" {
			lines = append(lines, list.name+": "+named)
		}
	}
	return strings.Join(lines, " · ")
}

// toolCounts lists tools with the number of their calls, in descending order.
func toolCounts(tools *smallmap.Map[turn.UnderWay], count func(turn.UnderWay) int) string {
	var names []string
	for _, name := range tools.Keys() {
		if count(tools.Get(name)) > 0 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(count(tools.Get(b)), count(tools.Get(a)))
	})
	var parts []string
	for _, name := range names[:min(len(names), maxToolsListed)] {
		part := plainMarkdown(name, maxDetailsText)
		if n := count(tools.Get(name)); n > 1 {
			part += " ×" + strconv.Itoa(n)
		}
		parts = append(parts, part)
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, formatCount(more, "more tool"))
	}
	return strings.Join(parts, ", ")
}

func (d *details) listApprovals(t *detailsText, info *workflow.Info) {
	open := d.pipeline.control.approvals.open
	addItems(t, open, command(info, "approvals"), func(o *approval) string {
		text := "**Call " + plainMarkdown(o.Call, maxDetailsText) + "**: "
		approve, deny := command(info, "approve", o.Call), command(info, "deny", o.Call)+
			" --reason TEXT"
		if o.Limit != "" {
			text, approve = "**More of its limit of "+plainMarkdown(o.Limit, maxDetailsText)+"**: ",
				approve+" --grant "+o.Limit+"=AMOUNT"
		}
		text += plainMarkdown(o.Text, maxDetailsText) + " — " + plainMarkdown(o.Reason,
			maxDetailsText) + " (open until " + moment(o.Until)
		return text + ")\n\n" + commands(approve, deny)
	})
}

func (d *details) listQuestions(t *detailsText, info *workflow.Info) {
	addItems(t, d.pipeline.questions.open, command(info, "questions"), func(o *question) string {
		text := "**Question " + plainMarkdown(o.ID, maxDetailsText) + "**: " +
			plainMarkdown(o.Text, maxDetailsText)
		if !o.Until.IsZero() {
			text += " (open until " + moment(o.Until) + ")"
		}
		return text + "\n\n" + commands(command(info, "answer", o.ID))
	})
}

// addItems adds the first open items and says how to see the rest.
func addItems[T any](t *detailsText, open []T, rest string, show func(T) string) {
	for i, o := range open {
		if i < maxListed && t.add(show(o), maxDetails-moreReserve) {
			continue
		}
		if !t.line(fmt.Sprintf("and %d more:\n\n%s", len(open)-i, commands(rest))) {
			t.line(fmt.Sprintf("and %d more", len(open)-i))
		}
		return
	}
}

// command returns a starter command line for the run, ready to paste. An ID that is not safe in a
// command line is replaced by RUN.
func command(info *workflow.Info, name string, arguments ...string) string {
	words := []string{"starter", name}
	for _, argument := range append([]string{info.WorkflowExecution.ID}, arguments...) {
		if display.Shorten(argument, len(argument)) != argument {
			argument = "RUN"
		}
		words = append(words, display.ShellWord(argument))
	}
	if info.Namespace != "default" {
		words = append(words, "--namespace", display.ShellWord(info.Namespace))
	}
	return strings.Join(words, " ")
}

// commands returns a block of command lines. Each line begins with the name of a command, so that
// no line can end the block.
func commands(lines ...string) string {
	return "```\n" + strings.Join(lines, "\n") + "\n```"
}

// outcomes maps a run's outcome to words.
var outcomes = map[api.Outcome]string{
	api.OutcomeAnswered: "Answered", api.OutcomeCompleted: "Completed", api.OutcomeFailed: "Failed",
	api.OutcomeLimit: "Ended at its limit",
}

func (t *detailsText) result(r *api.RunResult) {
	head := "**" + cmp.Or(outcomes[r.Outcome], plainMarkdown(string(r.Outcome), maxDetailsText)) +
		"**"
	if r.Limit != "" {
		head += " of " + plainMarkdown(r.Limit, maxDetailsText)
	}
	t.line(head)
	if text := cmp.Or(r.Answer, string(r.Output)); text != "" {
		t.line("Result: " + plainMarkdown(text, maxDetailsEnd))
	}
}

func (t *detailsText) failure(err error) {
	head, text := "**Failed**", err.Error()
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		head, text = head+" ("+plainMarkdown(app.Type(), maxDetailsText)+")", app.Message()
	}
	t.line(head + ": " + plainMarkdown(text, maxDetailsEnd))
}
