package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// summaryValue and summaryLine bound one value and the whole line of a Summary, in characters.
const (
	summaryValue = 40
	summaryLine  = 160
)

// Redacted replaces a sensitive value wherever values are shown.
const Redacted = "***"

// Summary describes a call in one line, such as `read_document path=docs/a.md`. Values of sensitive
// parameters are redacted, long values shortened, line ends and control characters made visible.
func Summary(tool string, arguments json.RawMessage, sensitive []string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(redact(arguments, sensitive), &object) != nil {
		return tool
	}
	parts := []string{tool}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, k+"="+Shorten(PlainText(object[k]), summaryValue))
	}
	return Shorten(strings.Join(parts, " "), summaryLine)
}

// runLine bounds the line about a run, in characters.
const runLine = 90

// RunSummary describes a run in one line, such as `agent librarian: which document …`: its kind,
// its name and its prompt, if any.
func RunSummary(what, name, prompt string) string {
	line := what + " " + name
	if prompt != "" {
		line += ": " + prompt
	}
	return Shorten(line, runLine)
}

// redact returns the arguments with the values of sensitive parameters replaced. Arguments that are
// not an object are returned unchanged if nothing is sensitive, and redacted as a whole otherwise.
func redact(arguments json.RawMessage, sensitive []string) json.RawMessage {
	return Tool{Sensitive: sensitive}.Redact(arguments)
}

// Shorten returns text on one line of at most limit characters, with … where text was left out.
// Line ends and other hidden characters become spaces.
func Shorten(text string, limit int) string {
	end, cut := 0, false
	for left := limit; left > 0 && end < len(text); left-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		if cut = left == 1 && end+size < len(text); !cut {
			end += size
		}
	}
	valid := strings.Map(func(r rune) rune {
		if r == utf8.RuneError { // also each byte that is not UTF-8
			return ' '
		}
		return r
	}, text[:end])
	shown := ReplaceHidden(valid, "", func(rune) string { return " " })
	if cut {
		shown += "…"
	}
	return shown
}

// Thousands formats a number with a comma after every three digits.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural formats a count with its noun: 1 call, 1,200 calls, 2 retries.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if stem, ok := strings.CutSuffix(word, "ry"); ok {
		return Thousands(n) + " " + stem + "ries"
	}
	return Thousands(n) + " " + word + "s"
}

// ShortenLines returns the first whole lines of text within limit characters, and says how many
// more there are. A longer first line is cut. Each line is made safe as in Shorten.
func ShortenLines(text string, limit int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var kept []string
	for i, left := 0, limit; i < len(lines); i++ {
		length := utf8.RuneCountInString(lines[i])
		if i > 0 && length > left {
			return strings.Join(append(kept, fmt.Sprintf("… and %d more", len(lines)-i)), "\n")
		}
		kept = append(kept, Shorten(lines[i], limit))
		left -= length + 1
	}
	return strings.Join(kept, "\n")
}

// MaxCallStatsTools bounds the tools that CallStats lists.
const MaxCallStatsTools = 50

// CallStats summarises the calls of a run and of its sub-agents.
type CallStats struct {
	Calls int `json:"calls"`
	// SuccessRate is the share of calls that neither failed nor were refused, from 0 to 1.
	SuccessRate float64 `json:"success_rate"`
	// Tools are the tools that were called, the most used first, at most MaxCallStatsTools.
	Tools []PastCalls `json:"tools,omitempty"`
	// Others counts the calls of tools that are not listed: further tools, unknown tools, and those
	// of sub-agents whose calls are not known.
	Others int `json:"others,omitempty"`
}

// NewCallStats summarises usage and the calls by tool, each tool once. It returns nil if there were
// no calls.
func NewCallStats(used Usage, tools []PastCalls) *CallStats {
	if used.Calls == 0 {
		return nil
	}
	b := &CallStats{Calls: used.Calls, SuccessRate: float64(max(used.Calls-used.Failed,
		0)) / float64(used.Calls), Tools: slices.Clone(tools)}
	slices.SortFunc(b.Tools, func(x, y PastCalls) int {
		return cmp.Or(y.All()-x.All(),
			cmp.Compare(x.Tool, y.Tool))
	})
	b.Tools = b.Tools[:min(len(b.Tools), MaxCallStatsTools)]
	b.Others = b.Calls
	for _, t := range b.Tools {
		b.Others -= t.All()
	}
	b.Others = max(b.Others, 0)
	return b
}

// All returns the number of calls with any outcome.
func (p PastCalls) All() int { return p.Completed + p.Failed + p.Refused + p.Running }

// Plus returns the sum of the calls of one tool.
func (p PastCalls) Plus(other PastCalls) PastCalls {
	p.Completed += other.Completed
	p.Failed += other.Failed
	p.Refused += other.Refused
	p.Running += other.Running
	return p
}

// Sendable reports whether an id can be written into addresses and command lines unchanged.
func Sendable(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			!strings.ContainsRune("_-.:/", r)
	})
}

// ShellWord quotes text that a shell would not read as one word.
func ShellWord(word string) string {
	if Sendable(word) && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// QueryOneOf returns a visibility condition for the executions whose attribute, a keyword or an ID,
// is one of texts. Servers with SQLite or PostgreSQL escape backslashes, double quotes and some
// control characters as MySQL needs it, and then find nothing. For texts with these the condition
// admits all values that begin like them, so callers have to compare the values of what is found.
func QueryOneOf(attribute string, texts ...string) string {
	var exact, conditions []string
	for _, text := range texts {
		if strings.ContainsAny(text, wronglyEscaped) {
			conditions = append(conditions, QueryPrefix(attribute, text))
		} else {
			exact = append(exact, QueryText(text))
		}
	}
	switch len(exact) {
	case 0:
	case 1:
		conditions = append(conditions, attribute+" = "+exact[0])
	default:
		conditions = append(conditions, attribute+" IN ("+strings.Join(exact, ", ")+")")
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// QueryPrefix returns a visibility condition for the executions whose attribute, a keyword or an
// ID, begins with text. As with QueryOneOf, callers have to compare the values of what is found.
func QueryPrefix(attribute, text string) string {
	if i := strings.IndexAny(text, wronglyEscaped); i >= 0 {
		text = text[:i]
	}
	return attribute + " STARTS_WITH " + QueryText(text)
}

// wronglyEscaped are the characters that servers with SQLite or PostgreSQL search together with a
// backslash.
const wronglyEscaped = "\\\"\b\n\r\t"

// QueryText quotes text for a visibility query. The server reads backslashes as escapes, so that
// doubling the quotes is not enough. Use QueryOneOf for texts that people or programs choose.
func QueryText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// RunEvaluation is a person's evaluation of a finished run.
type RunEvaluation struct {
	Solved bool `json:"solved"`
	// By identifies the person; Reason may be empty.
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
}

// EvaluatedResult is the evaluation of a run in the records of its calls.
type EvaluatedResult struct {
	// WorkflowID and RunID identify the run; RunID is the last execution of its chain.
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id,omitempty"`
	// Evaluation is solved, failed or open.
	Evaluation string `json:"evaluation"`
	// EvaluatedBy is person, checker or end; By is the person's name or the checker's tool.
	EvaluatedBy string `json:"evaluated_by"`
	By          string `json:"by,omitempty"`
	Reason      string `json:"reason,omitempty"`
}

// maxEvaluationText bounds name and reason, in bytes.
const maxEvaluationText = 2000

// Check returns why the evaluation is invalid; nil if it is valid.
func (v RunEvaluation) Check() error {
	switch {
	case isBlankIdentity(v.By):
		return fmt.Errorf("an evaluation needs the name of the person who gives it")
	case len(v.By) > maxEvaluationText || len(v.Reason) > maxEvaluationText:
		return fmt.Errorf("name and reason of an evaluation have at most %d bytes each",
			maxEvaluationText)
	}
	return nil
}

// Checker is a tool that evaluates an agent's run when it ends.
type Checker struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object with the placeholders {{args.prompt}} and {{args.answer}} in its
	// strings; default {"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// maxCheckArguments bounds the arguments of the checking call, in bytes: history has them twice.
const maxCheckArguments = 256 << 10

// checkCallID is the id of the checking call.
const checkCallID = "check"

// call returns tool and arguments as an Undo.
func (c Checker) call() Undo {
	u := Undo(c)
	if len(u.Arguments) == 0 {
		u.Arguments = json.RawMessage(`{"prompt": "{{args.prompt}}", "answer": "{{args.answer}}"}`)
	}
	return u
}

// CheckedRun is what a checker evaluates.
type CheckedRun struct {
	Prompt string `json:"prompt"`
	Answer string `json:"answer"`
}

// Call returns the checking call. It fails if the arguments are malformed or too long.
func (c Checker) Call(run CheckedRun) (Call, error) {
	of, err := EncodeJSON(map[string]any{"prompt": run.Prompt, "answer": run.Answer})
	if err != nil {
		return Call{}, err
	}
	template, err := DecodeJSON(c.call().Arguments)
	if err != nil {
		return Call{}, err
	}
	filled, _, err := UndoSource{Arguments: of}.fill(template)
	if err != nil {
		return Call{}, err
	}
	arguments, err := EncodeJSON(filled)
	if err == nil && len(arguments) > maxCheckArguments {
		err = fmt.Errorf("prompt and answer are too long to check: the arguments of %s would have %d bytes; the maximum is %d",
			c.Tool, len(arguments), maxCheckArguments)
	}
	return Call{ID: checkCallID, Tool: c.Tool, Arguments: string(arguments),
		CallPurpose: CallPurpose{Purpose: PurposeCheck}}, err
}

// Problems calls report with the path, which starts with path, and the fault of each string with an
// invalid placeholder.
func (c Checker) Problems(path string, report func(path, fault string)) {
	err := c.call().Strings(path, func(at, text string) {
		if Stray(text) {
			report(at, "has double braces outside of a placeholder")
		}
		for _, p := range PlaceholdersIn(text) {
			if p.Source != UndoArguments || len(p.Path) != 1 || p.Path[0] != "prompt" &&
				p.Path[0] != "answer" {
				report(at, p.Text+
					" is not a placeholder; placeholders are {{args.prompt}} and {{args.answer}}")
			}
		}
	})
	if err != nil {
		report(path, err.Error())
	}
}

// Checked is the evaluation by a checker.
type Checked struct {
	Tool   string `json:"tool"`
	Solved bool   `json:"solved"`
	Reason string `json:"reason,omitempty"`
	// Problem says why there is no evaluation: the check failed, or its answer is unusable. Solved
	// is then meaningless.
	Problem string `json:"problem,omitempty"`
}

// maxCheckedText bounds the texts of a Checked, in characters.
const maxCheckedText = 1000

// Evaluate reads the answer of the checker.
func (c Checker) Evaluate(out CallOutcome) Checked {
	solved, reason, err := evaluated(out)
	if err != nil {
		return Checked{Tool: c.Tool, Problem: Shorten(err.Error(), maxCheckedText)}
	}
	return Checked{Tool: c.Tool, Solved: solved, Reason: Shorten(reason, maxCheckedText)}
}

func evaluated(out CallOutcome) (solved bool, reason string, err error) {
	switch {
	case out.Error != nil:
		return false, "", fmt.Errorf("the check failed: %w", out.Error)
	case out.Result == nil:
		return false, "", fmt.Errorf("the check gave no answer")
	case out.Result.Cut > 0:
		return false, "", fmt.Errorf("%d bytes of the answer of %s were cut", out.Result.Cut,
			out.Tool)
	}
	value, err := DecodeJSON(out.Result.Output)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return false, "", fmt.Errorf("the answer of %s is not a JSON object", out.Tool)
	}
	if solved, ok = object["solved"].(bool); !ok {
		return false, "", fmt.Errorf("the answer of %s has neither true nor false at \"solved\"",
			out.Tool)
	}
	if reason, ok = object["reason"].(string); !ok && object["reason"] != nil {
		return false, "", fmt.Errorf("the answer of %s has no text at \"reason\"", out.Tool)
	}
	return solved, reason, nil
}
