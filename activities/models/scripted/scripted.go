package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Provider plays the script that the agent declares: without a network, with the same answers every
// time. Its input tokens are estimated from lengths, its output tokens counted.
type Provider struct{}

// Ready is always nil.
func (Provider) Ready() error { return nil }

// Answer plays the step of the prompt's turn. Texts and arguments may refer to results of earlier
// calls of the script.
func (Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	if p.Agent.Model.Script == nil {
		return api.ModelResponse{}, &models.Error{Message: "the agent has no script",
			Permanent: true}
	}
	script := p.Agent.Model.Script.Value
	play := scriptPlay{script: script, messages: p.Messages, before: p.Before}
	message, err := play.answer(p)
	if err != nil {
		return api.ModelResponse{}, &models.Error{Message: err.Error(), Permanent: true}
	}
	count := 0
	for _, m := range p.Messages {
		count += (m.Size() + 3) / 4
	}
	if overflow := beyond(count, p.Agent.Model.Window, script.Window); overflow != nil {
		return api.ModelResponse{}, overflow
	}
	if err := speak(ctx, message.Text, play.delay(p), p.Live); err != nil {
		return api.ModelResponse{}, err
	}
	response := api.ModelResponse{Message: message, Stop: api.StopAnswer, Model: "scripted"}
	if len(message.Calls) > 0 {
		response.Stop = api.StopCalls
	}
	response.Usage.InputTokens = count
	response.Usage.OutputTokens = tokens.Count(message.Text)
	for _, c := range message.Calls {
		response.Usage.OutputTokens += tokens.Count(c.Arguments)
	}
	return response, nil
}

// beyond returns an overflow where one of the windows is smaller than tokens; a window of zero
// takes any number.
func beyond(tokens int, windows ...int) error {
	for _, window := range windows {
		if window > 0 && tokens > window {
			return &models.Error{Overflow: true,
				Message: fmt.Sprintf(
					"the conversation has %d tokens, and the scripted model's window %d", tokens,
					window)}
		}
	}
	return nil
}

// speak streams a text in pieces, over the duration of the step. It returns the error of ctx.
func speak(ctx context.Context, text string, delay time.Duration, live func(string)) error {
	if delay <= 0 {
		return nil
	}
	pretokenize := strings.SplitAfter(text, " ")
	next := time.NewTicker(max(1, delay/time.Duration(len(pretokenize))))
	defer next.Stop()
	for _, piece := range pretokenize {
		select {
		case <-next.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if live != nil {
			live(piece)
		}
	}
	return nil
}

type scriptPlay struct {
	script   api.Script
	messages []api.Message
	// before is how many turns the earlier runs of the conversation took.
	before int
}

// answer plays what the prompt requests: a compaction, a summary at a limit, or the step of its
// turn.
func (s scriptPlay) answer(p models.Prompt) (message api.Message, err error) {
	turn := p.Turn - p.Before // a script begins anew with each run of a conversation
	switch {
	case p.Older != nil:
		message.Text = s.known(p.Older)
	case p.Limit != "":
		message.Text, err = s.summary(p.Limit)
	case turn < 1 || turn > len(s.script.Steps):
		err = fmt.Errorf("the script has %d steps and the run is at turn %d; end the script with an answer",
			len(s.script.Steps), turn)
	default:
		message, err = s.step(s.script.Steps[turn-1])
	}
	return message, err
}

// delay is how long the script has the prompt's step take; nothing where it is none of the
// script's.
func (s scriptPlay) delay(p models.Prompt) time.Duration {
	if p.Older != nil || p.Limit != "" {
		return 0
	}
	return s.script.Steps[p.Turn-p.Before-1].Delay.Std()
}

func (s scriptPlay) step(step api.ScriptStep) (api.Message, error) {
	text, err := s.text(step.Text + step.Answer)
	if err != nil {
		return api.Message{}, err
	}
	message := api.Message{Text: text}
	for _, c := range step.Calls {
		arguments, err := s.arguments(c)
		if err != nil {
			return api.Message{}, err
		}
		for range max(c.Repeat, 1) {
			message.Calls = append(message.Calls, api.Call{Tool: c.Tool, Arguments: arguments})
		}
	}
	return message, nil
}

func (s scriptPlay) arguments(c api.ScriptCall) (string, error) {
	if c.ArgumentsText != "" || len(c.Arguments) == 0 {
		return cmp.Or(c.ArgumentsText, "{}"), nil
	}
	if !strings.Contains(string(c.Arguments), "$") {
		return string(c.Arguments), nil
	}
	value, err := jsonvalue.Decode(c.Arguments)
	if err != nil {
		return "", fmt.Errorf("the arguments that the script gives %s are not JSON: %w", c.Tool,
			err)
	}
	resolved, err := planrules.Resolve(value, s.lookup)
	if err != nil {
		return "", err
	}
	data, err := jsonvalue.Encode(resolved)
	return string(data), err
}

func (s scriptPlay) text(text string) (string, error) {
	value, err := planrules.Resolve(text, s.lookup)
	if err != nil {
		return "", err
	}
	return jsonvalue.Text(value), nil
}

// lookup finds the result of the script's call with that id: the conversation's message about it,
// as JSON where it is.
func (s scriptPlay) lookup(id string) (any, bool) {
	for turn, step := range s.script.Steps {
		n := 0
		for _, c := range step.Calls {
			if c.ID == id {
				if value, ok := s.result(api.TurnCallID(s.before+turn+1, n+1)); ok {
					return value, true
				}
				return s.findInSummary(id)
			}
			n += max(c.Repeat, 1)
		}
	}
	return nil, false
}

func (s scriptPlay) result(callID string) (any, bool) {
	for i := len(s.messages) - 1; i >= 0; i-- {
		m := s.messages[i]
		if m.Role != api.RoleTool || m.CallID != callID {
			continue
		}
		// Notes stand after a result's value.
		text := m.Text
		if at := strings.LastIndex(text, "\n[note: "); at > 0 {
			text = text[:at]
		}
		if value, err := jsonvalue.Decode(json.RawMessage(text)); err == nil && !m.Failed {
			return value, true
		}
		return m.Text, true
	}
	return nil, false
}

// known sums up messages: it says what the script's calls with an id found, which is what later
// steps can refer to.
func (s scriptPlay) known(older []api.Message) string {
	play := scriptPlay{script: s.script, messages: older, before: s.before}
	lines := []string{"What was found:"}
	for _, step := range s.script.Steps {
		for _, c := range step.Calls {
			if c.ID == "" {
				continue
			}
			if value, ok := play.lookup(c.ID); ok {
				if data, err := jsonvalue.Encode(value); err == nil {
					lines = append(lines, knownWaiter(c.ID)+string(data))
				}
			}
		}
	}
	return strings.Join(lines, "\n")
}

func knownWaiter(id string) string { return "${" + id + "} = " }

// findInSummary finds the result of a call in the summary of what the model is not shown any more.
func (s scriptPlay) findInSummary(id string) (any, bool) {
	for _, m := range s.messages {
		if !m.IsSummary() {
			continue
		}
		for line := range strings.Lines(m.Text) {
			if data, ok := strings.CutPrefix(line, knownWaiter(id)); ok {
				value, err := jsonvalue.Decode(json.RawMessage(data))
				return value, err == nil
			}
		}
	}
	return nil, false
}

// summaryResults is how many of the last results a summary lists where the script has none of its
// own.
const summaryResults = 3

func (s scriptPlay) summary(limit string) (string, error) {
	if s.script.Summary != "" {
		return s.text(s.script.Summary)
	}
	var known []string
	for i := len(s.messages) - 1; i >= 0 && len(known) < summaryResults; i-- {
		if m := s.messages[i]; m.Role == api.RoleTool && !m.Failed {
			known = append(known, "- "+display.Shorten(m.Text, 200))
		}
	}
	return fmt.Sprintf("The limit of %s was reached. The last results:\n%s", limit,
		strings.Join(known, "\n")), nil
}
