package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

// A question during a call reaches the caller, in older and newer versions of the protocol and over
// both transports: accepted, declined, dismissed.
func TestElicitation_ReachesTheCaller(t *testing.T) {
	ask := func(replies Reply, err error) func(context.Context, string, string,
		json.RawMessage) (Reply, error) {
		return func(_ context.Context, _, text string, schema json.RawMessage) (Reply, error) {
			if text != "What is your name?" || !strings.Contains(string(schema),
				`"required":["name"]`) {
				return Reply{}, errors.New("asked " + text + string(schema))
			}
			return replies, err
		}
	}
	tests := []struct {
		args, want, note string
		ask              func(context.Context, string, string, json.RawMessage) (Reply, error)
	}{
		{`{}`, "accept Ada", "", ask(Reply{Content: map[string]any{"name": "Ada"}}, nil)},
		{`{}`, "decline <nil>", "", ask(Reply{Declined: true}, nil)},
		{`{}`, "cancel <nil>", "was not answered: no answer",
			ask(Reply{}, errors.New("no answer"))},
		{`{}`, "decline <nil>", "entry.answer_within", nil},
	}
	for _, mode := range []string{mcpserver.Good, mcpserver.Older} {
		t.Run(mode, func(t *testing.T) {
			for _, c := range []*Connection{connect(t, stdio(mode), Options{Asks: true}),
				connect(t, overHTTP(t, mode), Options{Asks: true})} {
				for _, tt := range tests {
					var notes []string
					a, err := c.Call(t.Context(),
						Request{Tool: "ask", Arguments: json.RawMessage(tt.args), Ask: tt.ask,
							Note: func(n string) { notes = append(notes, n) }})
					if err != nil {
						t.Fatalf("%s: %v", tt.want, err)
					}
					// An older server is declined without a note if no call may ask, because the
					// call of the question is unknown.
					noted := strings.Contains(strings.Join(notes, ""), tt.note) || tt.ask == nil &&
						!c.pingless
					if got := textOf(t, a); got != tt.want || !noted {
						t.Errorf("got %q, notes %q; want %q, %q", got, notes, tt.want, tt.note)
					}
				}
			}
		})
	}
}

// Questions by URL are declined. Unsupported requests and busy servers are reported.
func TestElicitation_IsDeclined(t *testing.T) {
	c := connect(t, stdio(mcpserver.Good), Options{Asks: true})
	asked := func(context.Context, string, string, json.RawMessage) (Reply, error) {
		return Reply{}, errors.New("a person was asked")
	}
	var notes []string
	a, err := c.Call(t.Context(), Request{Tool: "ask", Arguments: json.RawMessage(`{"text":"url"}`),
		Ask: asked, Note: func(n string) { notes = append(notes, n) }})
	if err != nil || textOf(t, a) != "decline <nil>" || len(notes) != 1 ||
		!strings.Contains(notes[0], "URL") {
		t.Errorf("got %v, %v, %q", a, err, notes)
	}
	for args, busy := range map[string]bool{`{"text":"roots"}`: false, `{"text":"busy"}`: true} {
		_, err := c.Call(t.Context(), Request{Tool: "ask", Arguments: json.RawMessage(args),
			Ask: asked})
		if refused, ok := errors.AsType[*Refused](err); !ok || refused.Busy() != busy {
			t.Errorf("%s: got %v", args, err)
		}
	}
}

// The SDK refuses a list of choices with titles if the choices have a type, which is valid.
func TestElicitation_MayOfferSeveralChoicesWithTitles(t *testing.T) {
	const field = `{"properties":{"a":{"items":{"anyOf":[{"const":"x","title":"X"}]%s},"type":"array"}}}`
	for _, typed := range []string{``, `,"type":"string"`} {
		p := &mcp.ElicitParams{}
		if err := json.Unmarshal(fmt.Appendf(nil, `{"requestedSchema":`+field+`}`, typed),
			p); err != nil {
			t.Fatal(err)
		}
		var got []byte
		_, err := acceptTitles(func(context.Context, string, mcp.Request) (mcp.Result, error) {
			var err error
			got, err = json.Marshal(p.RequestedSchema)
			return nil, err
		})(t.Context(), "elicitation/create", &mcp.ElicitRequest{Params: p})
		if want := fmt.Sprintf(field, ""); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
}
