package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

func play(script api.Script, turn int, limit string, messages ...api.Message) (api.ModelResponse,
	error) {
	packed := api.Pack(script)
	agent := &api.Agent{Model: api.Model{Script: &packed}}
	return Provider{}.Answer(context.Background(), models.Prompt{Agent: agent, Turn: turn,
		Limit: limit, Messages: messages})
}

// A step has arguments with results of earlier calls in their types, arguments that are no JSON,
// repeated calls, and an answer made of results.
func TestScripted_PlaysItsSteps(t *testing.T) {
	script := api.Script{Steps: []api.ScriptStep{
		{Calls: []api.ScriptCall{{Tool: "echo", Repeat: 2}, {ID: "list", Tool: "list_files"},
			{ID: "bad", Tool: "x"}, {ID: "text", Tool: "x"}, {ID: "noted", Tool: "x"}}},
		{Text: "Reading ${list.0.name}", Calls: []api.ScriptCall{
			{Tool: "read", Arguments: json.RawMessage(
				`{"file":"${list.0.name}","size":"${list.0.size}","all":"${list}","cost":"$${5}","why":"after ${bad}"}`)},
			{Tool: "raw", ArgumentsText: `{"a": `},
			{Tool: "plain", Arguments: json.RawMessage(`{"b": 1}`)},
			{Tool: "price", Arguments: json.RawMessage(`{"p": "$5"}`)},
			{Tool: "noted", Arguments: json.RawMessage(`{"n": "${noted.n}"}`)},
			{Tool: "none"},
		}},
		{Answer: "Found ${list.0.name}: ${text}"},
	}}
	messages := []api.Message{{Role: api.RoleUser, Text: "go"},
		outcome("1.3", `[{"name":"a.md","size":12345678901234567890}]`, false),
		outcome("1.4", "ERROR boom", true), outcome("1.5", "two\nlines", false),
		outcome("1.6", "{\"n\":7}\n[note: cut]", false)}
	first, err := play(script, 1, "")
	if err != nil || len(first.Message.Calls) != 6 || first.Message.Calls[1].Tool != "echo" ||
		first.Message.Calls[1].Arguments != "{}" || first.Stop != api.StopCalls {
		t.Errorf("got %+v, %v", first, err)
	}
	second, err := play(script, 2, "", messages...)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`{"all":[{"name":"a.md","size":12345678901234567890}],"cost":"${5}","file":"a.md","size":12345678901234567890,"why":"after ERROR boom"}`,
		`{"a": `, `{"b": 1}`, `{"p":"$5"}`, `{"n":7}`, `{}`}
	for i, c := range second.Message.Calls {
		if c.Arguments != want[i] {
			t.Errorf("%s: got %s; want %s", c.Tool, c.Arguments, want[i])
		}
	}
	if second.Message.Text != "Reading a.md" || second.Usage.InputTokens == 0 ||
		second.Usage.OutputTokens == 0 || second.Model != "scripted" {
		t.Errorf("got %+v", second)
	}
	third, err := play(script, 3, "", messages...)
	if err != nil || third.Message.Text != "Found a.md: two\nlines" ||
		third.Stop != api.StopAnswer || len(third.Message.Calls) != 0 {
		t.Errorf("got %+v, %v", third, err)
	}
}

// Without a summary, the last results that did not fail are the answer.
func TestScripted_AnswersWithItsSummaryAtALimit(t *testing.T) {
	script := api.Script{Steps: []api.ScriptStep{{Calls: []api.ScriptCall{{ID: "a", Tool: "x"}}}}}
	messages := []api.Message{outcome("1.1", "one", false), outcome("1.2", "two", false),
		outcome("1.3", "broken", true), outcome("1.4", "three", false), outcome("1.5", "four",
			false)}
	r, err := play(script, 2, "turns", messages...)
	if err != nil || r.Message.Text != "The limit of turns was reached. The last results:\n- four\n- three\n- two" {
		t.Errorf("got %q, %v", r.Message.Text, err)
	}
	script.Summary = "So far: ${a}"
	if r, err = play(script, 2, "turns", messages...); err != nil ||
		r.Message.Text != "So far: one" {
		t.Errorf("got %q, %v", r.Message.Text, err)
	}
}

// The error says what to do.
func TestScripted_FailsForGoodIfItsScriptIsWrong(t *testing.T) {
	refers := func(text string) api.Script {
		return api.Script{Steps: []api.ScriptStep{{Calls: []api.ScriptCall{{ID: "a", Tool: "x"}}},
			{Answer: text}}}
	}
	call := func(arguments string) api.Script {
		return api.Script{Steps: []api.ScriptStep{{},
			{Calls: []api.ScriptCall{{Tool: "x", Arguments: json.RawMessage(arguments)}}}}}
	}
	summary := refers("")
	summary.Summary = "${unknown}"
	cases := []struct {
		name, want string
		script     api.Script
		turn       int
		limit      string
	}{
		{"too short", "the script has 2 steps and the run is at turn 3; end the script with an answer",
			refers("x"), 3, ""},
		{"unknown call", `${unknown}: there is no result of a call "unknown"`, refers("${unknown}"), 2, ""},
		{"no result yet", `${a}: there is no result of a call "a"`, refers("${a}"), 2, ""},
		{"no such call in arguments", `${b}: there is no result of a call "b"`, call(`{"x":"${b}"}`), 2, ""},
		{"malformed arguments",
			"the arguments that the script gives x are not JSON: unexpected '$' at byte 6",
			call(`{"x":$}`), 2, ""},
		{"summary", `${unknown}: there is no result of a call "unknown"`, summary, 2, "turns"},
		{"no turn", "the script has 2 steps and the run is at turn 0; end the script with an answer", refers("x"), 0, ""},
	}
	for _, c := range cases {
		_, err := play(c.script, c.turn, c.limit)
		if e, ok := errors.AsType[*models.Error](err); !ok || !e.Permanent ||
			e.Message != c.want {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
	_, err := Provider{}.Answer(context.Background(), models.Prompt{Agent: &api.Agent{}})
	if e, ok := errors.AsType[*models.Error](err); !ok || !e.Permanent ||
		(Provider{}).Ready() != nil {
		t.Errorf("got %v", err)
	}
}

// A slow step streams its text and ends at the timeout of the step. At a limit there is no delay.
func TestScripted_StreamsSlowSteps(t *testing.T) {
	const text = "one two  three"
	packed := api.Pack(api.Script{Steps: []api.ScriptStep{{Answer: text,
		Delay: api.Duration(20 * time.Millisecond)},
		{Calls: []api.ScriptCall{{Tool: "probe"}}, Delay: api.Duration(time.Hour)}}})
	agent := &api.Agent{Model: api.Model{Script: &packed}}
	var heard []string
	p := models.Prompt{Agent: agent, Turn: 1, Live: func(piece string) {
		heard = append(heard,
			piece)
	}}
	began := time.Now()
	r, err := Provider{}.Answer(t.Context(), p)
	if err != nil || r.Message.Text != text || strings.Join(heard, "") != text || len(heard) != 4 ||
		time.Since(began) < 20*time.Millisecond {
		t.Errorf("heard %q in %s, got %+v, %v", heard, time.Since(began), r.Message, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	p.Turn, p.Live = 2, nil
	if _, err := (Provider{}).Answer(ctx, p); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	p.Limit = "turns"
	if r, err := (Provider{}).Answer(t.Context(), p); err != nil || len(r.Message.Calls) > 0 {
		t.Errorf("at a limit: %+v, %v", r, err)
	}
}

// The scripted model overflows beyond its window. Its summary contains what later steps refer to,
// also in a summary of a summary.
func TestScripted_Compacts(t *testing.T) {
	script := api.Script{Window: 100, Steps: []api.ScriptStep{
		{Calls: []api.ScriptCall{{ID: "fact", Tool: "x"}, {Tool: "y"}, {ID: "text", Tool: "x"},
			{ID: "failed", Tool: "x"}, {ID: "unmade", Tool: "x"}}},
		{Answer: "${fact.code} ${text} ${failed}"}}}
	talk := []api.Message{{Role: api.RoleUser, Text: "go"}, outcome("1.1", `{"code":4711}`, false),
		outcome("1.2", strings.Repeat("y", 500), false),
		outcome("1.3", "two\nlines", false), outcome("1.4", "ERROR boom", true)}
	_, err := play(script, 2, "", talk...)
	var failure *models.Error
	if !errors.As(err, &failure) || !failure.Overflow || err.Error() != "the conversation has 136 tokens, and the scripted model's window 100" {
		t.Fatalf("got %v", err)
	}
	older := talk[1:]
	for range 2 {
		agent := &api.Agent{Model: api.Model{Script: new(api.Pack(script))}}
		response, err := Provider{}.Answer(t.Context(), models.Prompt{Agent: agent, Turn: 2,
			Older: older, Messages: talk[:1]})
		if err != nil {
			t.Fatal(err)
		}
		older = []api.Message{api.SummaryMessage(response.Message.Text, api.Compacted{Messages: 4})}
	}
	r, err := play(script, 2, "", talk[0], older[0])
	if err != nil || r.Message.Text != "4711 two\nlines ERROR boom" {
		t.Errorf("got %q, %v", r.Message.Text, err)
	}
}

func outcome(id, text string, failed bool) api.Message {
	return api.Message{Role: api.RoleTool, CallID: id, Text: text, Failed: failed}
}
