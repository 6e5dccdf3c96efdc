package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"go.temporal.io/sdk/temporal"
)

// longTalk returns a conversation of instructions, a task, and turns of one call each with results
// of the given size.
func longTalk(turns, bytes int) []api.Message {
	talk := []api.Message{{Role: api.RoleSystem, Text: "You are an agent."},
		{Role: api.RoleUser, Text: "Find the code."}}
	for i := range turns {
		id := api.TurnCallID(i+1, 1)
		talk = append(talk, api.Message{Role: api.RoleAssistant,
			Calls: []api.Call{{ID: id, Tool: "probe", Arguments: `{"text":"x"}`}}},
			api.Message{Role: api.RoleTool, CallID: id,
				Text: fmt.Sprint(i+1, strings.Repeat(" é", bytes/3)), Failed: i == 1})
	}
	return talk
}

// compactRequest requests a summary of everything after the task.
func compactRequest(talk []api.Message, transcript int) api.ModelRequest {
	r := api.ModelRequest{Turn: 3, Seen: len(talk), Compact: &api.Compaction{From: 2, To: len(talk),
		Task: 1, MaxTranscript: transcript, MaxSummary: 600}}
	for _, m := range talk {
		r.Chain = api.NextChain(r.Chain, m.Digest())
	}
	return r
}

// The model gets the task and the messages as one text, without tools, within a bound. Omitted
// parts are noted and counted. Its answer, within a bound, is the message that replaces them.
func TestCompaction_SummarizesWithinItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		turns, bytes, transcript int
		answer                   string
		cut                      int
		shown, not               []string
	}{
		"whole": {3, 30, 10_000, "the code is 7", 0, []string{"Find the code.",
			"<call 1.1 of probe>\n{\"text\":\"x\"}", "<result of call 1.1>\n1 é",
			"<failure of call 2.1>"}, []string{"[", "You are an agent."}},
		"cut": {3, 3000, 4_000, "the code is 7", 3, []string{"<result of call 1.1>\n1 é",
			"bytes are left out: too long to be summed up whole]", "<result of call 3.1>"},
			[]string{"messages are left out"}},
		"left out": {500, 300, 8_000, strings.Repeat("long é ", 200), 900,
			[]string{"<result of call 1.1>", "messages are left out here]",
				"<result of call 500.1>"}, []string{"<result of call 250.1>"}},
		"not at all": {2, 4000, 0, "nothing", 4, []string{"Find the code",
			"[4 messages are left out here]"}, nil},
		"broken text": {1, 30, 10_000, "a\xffb", 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var prompt models.Prompt
			b := modelBench(t, api.Agent{Name: "a", Model: api.Model{Window: 5000}},
				func(_ context.Context, p models.Prompt) (api.ModelResponse, error) {
					prompt = p
					return api.ModelResponse{Message: api.Message{Text: c.answer,
						Calls: []api.Call{{Tool: "probe"}}}, Usage: api.Usage{InputTokens: 9}}, nil
				})
			b.run.Messages = longTalk(c.turns, c.bytes)
			response, err := b.step(t, compactRequest(b.run.Messages, c.transcript), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(prompt.Messages) != 2 || len(prompt.Tools) != 0 || prompt.Live != nil ||
				len(prompt.Older) != 2*c.turns {
				t.Errorf("the model was asked %d messages with %d tools about %d",
					len(prompt.Messages), len(prompt.Tools), len(prompt.Older))
			}
			text := prompt.Messages[1].Text
			if !expect.Contains(text, c.shown...) || len(text) > c.transcript+400 {
				t.Errorf("the model got %d bytes: %.2000s", len(text), text)
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("the model got %q", not)
				}
			}
			m, done := response.Message, response.Compacted
			if done == nil || done.Messages != 2*c.turns || done.Cut != c.cut &&
				(c.cut < 100 || done.Cut < c.cut) {
				t.Errorf("compacted %+v, want %d cut", done, c.cut)
			}
			if !m.IsSummary() || len(m.Calls) > 0 || len(m.Text) > 900 || response.Window != 5000 ||
				!expect.Contains(m.Text, c.answer[:1], "earlier messages") {
				t.Errorf("the answer is %+v", response)
			}
			if strings.Contains(m.Text, "too long to be summarized in full") != (done.Cut > 0) ||
				strings.Contains(m.Text, "\xff") {
				t.Errorf("the summary is %s", m.Text)
			}
		})
	}
}

// A refusal of the model and an impossible request are permanent. An empty answer may be retried.
func TestCompaction_FailsForGoodOrIsRetried(t *testing.T) {
	talk := longTalk(2, 10)
	for name, c := range map[string]struct {
		response  api.ModelResponse
		to        int
		permanent bool
		want      string
	}{
		"declined": {api.ModelResponse{Message: api.Message{Text: "no"}, Stop: api.StopRefusal},
			len(talk), true, "the model declined to sum up the conversation: no"},
		"nothing": {api.ModelResponse{Message: api.Message{Text: " \n"}}, len(talk), false,
			"the model was asked to sum up the conversation and answered with nothing"},
		"no such": {api.ModelResponse{}, len(talk) + 1, true,
			"the conversation has 6 messages, and those from 3 to 7 of it are to be summed up"},
		"empty":     {api.ModelResponse{}, 2, true, "the conversation has 6 messages, and those from 3 to 2 of it are to be summed up"},
		"backwards": {api.ModelResponse{}, 1, true, "the conversation has 6 messages, and those from 3 to 1 of it are to be summed up"},
	} {
		t.Run(name, func(t *testing.T) {
			b := modelBench(t, api.Agent{Name: "a"},
				func(context.Context, models.Prompt) (api.ModelResponse, error) {
					return c.response,
						nil
				})
			b.run.Messages = talk
			r := compactRequest(talk, 1000)
			r.Compact.To = c.to
			_, err := b.step(t, r, nil)
			app, ok := errors.AsType[*temporal.ApplicationError](err)
			if !ok || app.NonRetryable() != c.permanent || app.Message() != c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}
