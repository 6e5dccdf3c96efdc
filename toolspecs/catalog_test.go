package toolspecs

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/plans"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// Both forms of parameters give models one JSON Schema, with properties in declared order and the
// same bytes every time.
func TestModelSchema_IsEqualForListsAndJSONSchema(t *testing.T) {
	c := decodeOne(t, searchSpec)
	want := `{"type":"object","properties":{` +
		`"query":{"type":"string","pattern":"^[a-z ]+$","minLength":2,"maxLength":10},` +
		`"limit":{"type":"integer","default":10,"minimum":1,"maximum":100},` +
		`"ratio":{"type":"number","minimum":0.5,"maximum":1e2},` +
		`"exact":{"type":"boolean"},` +
		`"order":{"type":"string","enum":["newest","oldest"]},` +
		`"token":{"type":"string","minLength":20},` +
		`"tags":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","maxLength":3}},` +
		`"filter":{"type":"object","properties":{"field":{"type":"string"},"depth":{"type":"integer","default":3},"password":{"type":"string"}},` +
		`"required":["field"],"additionalProperties":false},` +
		`"extra":{"type":"object"},` +
		`"rows":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","default":1},"on":{"type":"boolean"}},"additionalProperties":false}}},` +
		`"required":["query"],"additionalProperties":false}`
	if got := string(c.InputSchema()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if c.OutputSchema() != nil {
		t.Errorf("an open output has the schema %s", c.OutputSchema())
	}
	again := compile(t, Spec{InputSchema: json.RawMessage(" " + want)})
	if !bytes.Equal(again.InputSchema(), c.InputSchema()) {
		t.Errorf("as input_schema it became %s", again.InputSchema())
	}
	open := compile(t, Spec{Parameters: []Parameter{{Name: "map", Type: schemas.TypeObject,
		Validation: &Validation{Required: []string{"id"}}}}})
	if got := string(open.InputSchema()); !strings.Contains(got,
		`"map":{"type":"object","required":["id"]}`) {
		t.Errorf("an object without declared properties is open: %s", got)
	}
}

// A pinned tool has the facts that decisions need. It compiles to the same spec without YAML, also
// after encoding as JSON. An altered spec is refused.
func TestPinnedTool_CompilesToTheSameSpec(t *testing.T) {
	c := decodeOne(t, strings.Replace(searchSpec, "description: Searches.",
		"description: Finds a<b & c>d.", 1)+
		"execution: {lane: serial, access: exclusive, effect: idempotent, timeout: 1m, queue_timeout: 2m, heartbeat: 2s, retry: {max_attempts: 7}}\n")
	tool := c.Tool()
	want := api.Tool{
		Name: "search", Version: "1.0.0", Digest: api.Digest(tool.Spec), Status: api.StatusActive,
		Lane:   "serial",
		Access: api.AccessExclusive, Effect: api.EffectIdempotent,
		Timeout: api.Duration(time.Minute), QueueTimeout: api.Duration(2 * time.Minute),
		Heartbeat: api.Duration(2 * time.Second),
		Retry: api.Retry{MaxAttempts: 7, InitialInterval: api.Duration(200 * time.Millisecond),
			Backoff:     2,
			MaxInterval: api.Duration(10 * time.Second)},
		// filter contains a sensitive property.
		Sensitive: []string{"token", "filter"}, Mask: &redaction.Mask{Keys: map[string]*redaction.Mask{
			"token": {All: true}, "filter": {Keys: map[string]*redaction.Mask{"password": {All: true}}}}},
		Spec: tool.Spec,
	}
	got, _ := json.Marshal(tool)
	if wanted, _ := json.Marshal(want); string(got) != string(wanted) {
		t.Errorf("got\n%s\nwant\n%s", got, wanted)
	}
	var travelled api.Tool
	if err := json.Unmarshal(got, &travelled); err != nil {
		t.Fatal(err)
	}
	back, err := FromTool(travelled)
	if err != nil {
		t.Fatal(err)
	}
	if back.Digest != c.Digest || !bytes.Equal(back.InputSchema(), c.InputSchema()) ||
		!bytes.Equal(back.Tool().Spec, tool.Spec) {
		t.Errorf("%s came back as %s", tool.Spec, back.Tool().Spec)
	}
	for name, altered := range map[string]string{
		"another description": strings.Replace(string(tool.Spec), "Finds", "Loses", 1),
		"no JSON":             "{",
		"no spec":             `{"name":"search"}`,
	} {
		pinned := tool
		pinned.Spec = json.RawMessage(altered)
		if _, err := FromTool(pinned); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The default is three attempts, and one if another attempt could repeat the effect.
func TestRetryDefaults_DependOnTheEffect(t *testing.T) {
	for effect, attempts := range map[api.Effect]int{api.EffectRead: 3, api.EffectIdempotent: 3,
		api.EffectOnce: 1, "": 1} {
		c := compile(t, Spec{Execution: ExecutionSpec{Effect: effect}})
		if got := c.Tool().Retry.MaxAttempts; got != attempts {
			t.Errorf("effect %q: %d attempts, want %d", effect, got, attempts)
		}
	}
	c := compile(t, Spec{Execution: ExecutionSpec{Retry: api.Retry{InitialInterval: api.Duration(
		time.Minute)}}})
	if got := c.Spec.Execution.Retry.MaxInterval; got.Std() != time.Minute {
		t.Errorf("max_interval %s is less than initial_interval", got)
	}
}

// The rules are those of files. Faults name the tool and the path.
func TestCompile_ChecksSpecsMadeInGo(t *testing.T) {
	negative := -1
	s := Spec{
		Name: "bad", Version: "1", Category: "htpp",
		Parameters: []Parameter{{Name: "a", Type: "text"}, {Name: "b", Type: schemas.TypeString,
			Validation: &Validation{MinLength: &negative}}},
		Entry: Entry{Kind: FunctionEntry{Handler: "x"}},
		Execution: ExecutionSpec{Timeout: api.Duration(48 * time.Hour),
			Retry: api.Retry{MaxAttempts: -1}},
		Requires: Requires{Dependencies: []Dependency{{Name: "db"}}},
	}
	_, err := s.Compile()
	faults, ok := errors.AsType[Faults](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	want := `toolspec "bad": $.category: category is "htpp"; it must be one of http, database, file, ai, notification, custom (did you mean "http"?)
toolspec "bad": $.description: description is missing
toolspec "bad": $.execution.timeout: timeout is 48h0m0s; the maximum is 24h
toolspec "bad": $.parameters[0].type: type is "text"; it must be one of string, number, integer, boolean, array, object, any
toolspec "bad": $.parameters[1].validation.min_length: min_length is -1; the minimum is 0
toolspec "bad": $.requires.dependencies[0].check: check is missing
toolspec "bad": $.version: version "1" is not a semantic version (write three numbers, such as 1.0.0)
toolspec "bad": $.execution.retry.max_attempts: max_attempts is -1; the minimum is 1`
	if faults.Error() != want {
		t.Errorf("got\n%s\nwant\n%s", faults.Error(), want)
	}
	for name, broken := range map[string]Spec{
		"default that is no JSON": {Parameters: []Parameter{{Name: "a",
			Type: schemas.TypeString, Default: json.RawMessage("{")}}},
		"enum that is no JSON": {Parameters: []Parameter{{Name: "a",
			Type:       schemas.TypeString,
			Validation: &Validation{Enum: []json.RawMessage{json.RawMessage("x")}}}}},
		"input_schema that is no JSON": {InputSchema: json.RawMessage("{")},
		"min that is no number": {Parameters: []Parameter{{Name: "a",
			Type: schemas.TypeNumber, Default: json.RawMessage("1"),
			Validation: &Validation{Min: new(json.Number)}}}},
	} {
		if _, err := complete(broken).Compile(); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

// Tools are found by name, category, tag, status and part of the name. Similar names and active
// tools are listed.
func TestCatalog_FindsTools(t *testing.T) {
	c := catalogOf(t,
		Spec{Name: "write_file", Category: "file", Tags: []string{"disk", "write"}},
		Spec{Name: "read_file", Category: "file", Tags: []string{"disk"}},
		Spec{Name: "fetch", Category: "http", Status: api.StatusDeprecated},
		Spec{Name: "shout", Status: api.StatusDisabled},
	)
	for _, q := range []struct {
		query Query
		want  string
	}{
		{Query{}, "fetch read_file shout write_file"},
		{Query{Category: "file"}, "read_file write_file"},
		{Query{Tag: "write"}, "write_file"},
		{Query{Status: api.StatusDisabled}, "shout"},
		{Query{NamePart: "FILE", Tag: "disk"}, "read_file write_file"},
		{Query{Category: "ai"}, ""},
	} {
		if got := joined(c.Select(q.query)); got != q.want {
			t.Errorf("%+v: %q, want %q", q.query, got, q.want)
		}
	}
	if got := joined(c.All()); got != "fetch read_file shout write_file" {
		t.Errorf("all: %q", got)
	}
	if got := c.Active(); !slices.Equal(got, []string{"fetch", "read_file", "write_file"}) {
		t.Errorf("active: %v", got)
	}
	if got := c.Near("raed_file"); !slices.Equal(got, []string{"read_file"}) {
		t.Errorf("near: %v", got)
	}
	for name, want := range map[string]bool{"read_file": true, "read": false, "": false} {
		if _, ok := c.Get(name); ok != want {
			t.Errorf("%q is found: %t", name, ok)
		}
	}
}

func joined(tools []*Compiled) string {
	var list []string
	for _, tool := range tools {
		list = append(list, tool.Spec.Name)
	}
	return strings.Join(list, " ")
}

func catalogOf(t *testing.T, specs ...Spec) *Catalog {
	t.Helper()
	for i, s := range specs {
		specs[i] = complete(s)
	}
	c, err := NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCatalogMerge_RefusesDifferentToolsOfOneName(t *testing.T) {
	one := catalogOf(t, Spec{Name: "b"}, Spec{Name: "same"})
	merged, err := one.Merge(catalogOf(t, Spec{Name: "a"}, Spec{Name: "same"}))
	if err != nil || joined(merged.All()) != "a b same" {
		t.Fatalf("merged %v, %v", merged, err)
	}
	_, err = merged.Merge(catalogOf(t, Spec{Name: "a", Description: "Another."}))
	if err == nil || err.Error() != `toolspec "a": there is another tool of this name (rename or remove one of them)` {
		t.Errorf("got %v", err)
	}
	if _, err := NewCatalog([]Spec{complete(Spec{Name: "a"}), complete(Spec{Name: "a"}),
		{Name: "c"}}); err == nil ||
		err.Error() != "toolspec \"a\": there is another tool of this name (rename or remove one of them)\ntoolspec \"c\": $.description: description is missing\ntoolspec \"c\": $.entry: entry is missing\ntoolspec \"c\": $.version: version is missing" {
		t.Errorf("got %v", err)
	}
}

func TestShippedTools_Compile(t *testing.T) {
	c, err := NewCatalog(LoadShipped())
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Get("echo"); !ok {
		t.Errorf("echo is not among %v", c.Names())
	}
}

// Agent, plan and script files decode to the values that start runs.
func TestRunFiles_DecodeToInputsOfRuns(t *testing.T) {
	agent, err := agents.Load("testdata/agents/scripted_good.yaml",
		agents.Known{Names: []string{"search", "read"}})
	compareJSON(t, agent, err,
		`{"name":"docs","description":"Answers questions.","instructions":"Be brief.","model":{"provider":"scripted",`+
			`"script":{"steps":[{"calls":[{"id":"a","tool":"search","arguments":{"query":"x"}}]},{"answer":"found ${a}"}]}},"tools":["search","read"],`+
			`"order":"parallel_first","mode":"lenient","limits":{"turns":5,"calls":10,"tokens":1000,"cost":0.5,"wall_time":"1m0s"}}`)
	agent, err = agents.Load("testdata/agents/openai_good.yaml", agents.Known{})
	compareJSON(t, agent, err, `{"name":"docs","model":{"provider":"openai","name":"gpt",`+
		`"script":{"steps":[{"calls":[{"id":"a","tool":"search","arguments":{"query":"x"}}]},{"answer":"found ${a}"}]},"temperature":0,"max_tokens":100,`+
		`"timeout":"1m0s","lane":"model","max_attempts":2,"price":{"input":0.1,"output":0.2}},"tools":["search"]}`)
	plan, err := plans.Load("testdata/plans/list_good.yaml", nil)
	compareJSON(t, plan, err, `{"calls":[{"id":"call-1","tool":"search","arguments":{"query":"x","since":"2024-01-01","limit":123456789012345678901}},`+
		`{"id":"second","tool":"read","arguments":{"path":"${call-1.0}"},"depends_on":["call-1"]}]}`)
	plan, err = plans.Load("testdata/plans/json_good.json", nil)
	compareJSON(t, plan, err, `{"name":"json","calls":[{"id":"a","tool":"search","arguments":{"text":"a/b 😀 \\ud83d","n":1e3,"t":true,"z":null}}],"output":"${a}"}`)
	data, err := os.ReadFile("testdata/scripts/one_good.yaml")
	if err != nil {
		t.Fatal(err)
	}
	script, err := plans.DecodeScript("one_good.yaml", data, nil, "")
	compareJSON(t, script, err,
		`{"steps":[{"text":"Let me look.","calls":[{"id":"found","tool":"search","arguments":{"query":"x"}},`+
			`{"tool":"search","arguments_text":"{broken","repeat":3}]},{"calls":[{"id":"text","tool":"read","arguments":{"path":"${found.0.path}"}}]},`+
			`{"answer":"It says ${text}, for $${PRICE}.","delay":"2s"}],"summary":"So far: ${found}"}`)
	for name, load := range map[string]func(string) error{
		"agent": func(path string) error { _, err := agents.Load(path, agents.Known{}); return err },
		"plan":  func(path string) error { _, err := plans.Load(path, nil); return err },
	} {
		if err := load("testdata/none.yaml"); err == nil ||
			err.Error() != "testdata/none.yaml: cannot be read: no such file or directory" {
			t.Errorf("%s: %v", name, err)
		}
		if err := load("testdata"); err == nil ||
			err.Error() != "testdata: cannot be read: it is not a regular file" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func compareJSON(t *testing.T, value any, err error, want string) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	got, err := jsonvalue.Encode(value)
	if err != nil || string(got) != want {
		t.Errorf("got\n%s (%v)\nwant\n%s", got, err, want)
	}
}
