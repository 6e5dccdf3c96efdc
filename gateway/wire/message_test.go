package wire

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A message is what JSON-RPC says, with an id that can be returned unchanged.
func TestCheck_RefusesWhatIsNoMessage(t *testing.T) {
	const notJSON, notObject, badID = "-32700 the message is not valid JSON",
		"-32600 the message is not a JSON object; batches are not supported",
		"-32600 the id is neither a text nor an integer up to 2^53"
	for text, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"a"}`:                 "a 1 true",
		`{"jsonrpc":"2.0","id":"x","method":"a","params":{}}`:   `a "x" true`,
		`{"jsonrpc":"2.0","id":9007199254740992,"method":"a"}`:  "a 9007199254740992 true",
		`{"jsonrpc":"2.0","id":-9007199254740992,"method":"a"}`: "a -9007199254740992 true",
		`{"jsonrpc":"2.0","method":"a"}`:                        "a  false",
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                  " 1 false",
		``:                                                      notJSON,
		`{`:                                                     notJSON,
		`{"jsonrpc":"2.0","id":1,"method":"a"}{}`:               notJSON,
		`null`: notObject,
		`[]`:   notObject,
		`5`:    notObject,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"a"}`: badID,
		`{"jsonrpc":"2.0","id":1e3,"method":"a"}`:              badID,
		`{"jsonrpc":"2.0","id":1.5,"method":"a"}`:              badID,
		`{"jsonrpc":"2.0","id":null,"method":"a"}`:             badID,
		`{"jsonrpc":"2.0","id":{},"method":"a"}`:               badID,
		`{"jsonrpc":"2.0","id":1,"method":""}`:                 "-32600 the method is empty",
		`{"jsonrpc":"1.0","id":1,"method":"a"}`: `-32600 invalid message version tag "1.0"; ` +
			`expected "2.0"`,
	} {
		m, fault := Check([]byte(text))
		got := fmt.Sprintf("%s %s %t", m.Method, m.ID, m.IsCall())
		if fault != nil {
			got = fmt.Sprint(fault.Code, " ", fault.Message)
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// Parameters that may be missing may be null or an empty list.
func TestCheck_TakesNothingForMissingObjects(t *testing.T) {
	const head = `{"jsonrpc":"2.0","id":1,"method":"a","params":`
	for params, want := range map[string]string{
		`{"arguments":null,"name":"x"}`:           `{"name":"x"}`,
		`{"arguments":[],"_meta":[ ],"name":"x"}`: `{"name":"x"}`,
		`{"arguments":{},"name":"x"}`:             `{"arguments":{},"name":"x"}`,
		`{"arguments":[1],"name":"x"}`:            `{"arguments":[1],"name":"x"}`,
		`[]`:                                      `{}`,
		`null`:                                    `null`,
		`{"capabilities":{"roots":[],"elicitation":{"form":[]}}}`: `{"capabilities":{` +
			`"elicitation":{"form":{}},"roots":{}}}`,
	} {
		m, fault := Check([]byte(head + params + "}"))
		var got struct {
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(m.Body, &got); err != nil || fault != nil ||
			string(got.Params) != want {
			t.Errorf("%s: got %s, %v, want %s", params, got.Params, fault, want)
		}
	}
}
