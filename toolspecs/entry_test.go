package toolspecs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// A run's history stores this form, and digests cover it: the type, then the fields in the order of
// the kind's struct.
func TestEntry_IsOneObjectInJSON(t *testing.T) {
	for want, entry := range map[string]Entry{
		`{"type":"function"}`: {Kind: FunctionEntry{}},
		`{"type":"rest","base_url":"https://example.com/?a&b","query":{"b":1,"a":2},"max_response":9}`: {
			Kind: RESTEntry{BaseURL: "https://example.com/?a&b", MaxResponse: 9,
				Query: json.RawMessage(`{"b":1,"a":2}`)}},
		`{"type":"mcp","argv":["server"],"on_loss":"fail","closes":true,"server":"files","tool":"read","answer_within":"1m0s"}`: {
			Kind: MCPEntry{Argv: []string{"server"}, OnLoss: api.OnLossFail, Closes: true,
				Server: "files", Tool: "read", AnswerWithin: api.Duration(time.Minute)}},
		`{"type":"other"}`: {unknown: "other"},
		`{"type":""}`:      {},
	} {
		got, err := jsonvalue.Encode(entry)
		if err != nil || string(got) != want {
			t.Errorf("got\n%s, %v\nwant\n%s", got, err, want)
		}
		var back Entry
		if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, entry) {
			t.Errorf("%s is read as %+v, %v", got, back, err)
		}
	}
	var older Entry
	if err := json.Unmarshal([]byte(`{"type":"builtin"}`), &older); err != nil ||
		older.Type() != KindFunction {
		t.Errorf("got %+v, %v", older, err)
	}
}

// A field has the same name in YAML and in JSON, or is in one of them only. A field that is not set
// is not in the JSON, so that a new field changes no digest.
func TestKinds_HaveFieldsWithTagsThatAgree(t *testing.T) {
	for name, k := range kinds {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(k)) {
			if !f.IsExported() {
				continue
			}
			inJSON, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			inYAML := f.Tag.Get("yaml")
			if inJSON != inYAML && inJSON != "-" && inYAML != "-" || inJSON == "type" ||
				inJSON != "-" && !strings.HasPrefix(options, "omit") {
				t.Errorf("the kind %s has the field %s with the tags %s", name, f.Name, f.Tag)
			}
		}
	}
}

func TestEditEntry_LeavesCopiesAlone(t *testing.T) {
	s := Spec{Entry: Entry{Kind: MCPEntry{Tool: "read"}}}
	was := s
	EditEntry(&s, func(e *MCPEntry) { e.Tool = "write" })
	EditEntry(&s, func(e *RESTEntry) { e.Path = "/" })
	if now := s.Entry.Kind.(MCPEntry); now.Tool != "write" ||
		was.Entry.Kind.(MCPEntry).Tool != "read" {
		t.Errorf("got %+v, and the copy is %+v", now, was.Entry.Kind)
	}
}
