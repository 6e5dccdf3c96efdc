package conformance

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/client"
)

// call is one call that a scenario requires, as a direct run.
type call struct {
	// tool is the imported tool; arguments are its JSON, empty for {}.
	tool, arguments string
	// schemaOf names the tool whose schema, as models see it, is the argument schema.
	schemaOf string
	// reply is the person's answer if the server asks during the call.
	reply string
	// result is a part of the returned text; failure is the type of the error instead.
	result  string
	failure api.ErrorType
}

// scenario is what the orchestrator does at a scenario's server.
type scenario struct {
	// spec is a toolspec with a place for the server's URL. It is used instead of importing the
	// server's tools.
	spec  string
	calls []call
	// login is set if the server requires one: starter logs in for the import, and the worker for
	// the run's call, unless shared makes the worker use starter's login.
	login, shared bool
	// refused is a part of the message with which the import has to fail; empty if it succeeds.
	refused string
}

// scenarios has what each scenario requires. A scenario of the folder auth that is not listed
// requires what every server with a login does: a call of its tool.
var scenarios = map[string]scenario{
	// The server has no tools, so that nothing could be imported and called.
	"initialize":       noTools,
	"request-metadata": noTools,
	"tools_call": {calls: []call{{tool: "add_numbers",
		arguments: `{"a":5,"b":3}`, result: "The sum of 5 and 3 is 8"}}},
	"elicitation-sep1034-client-defaults": {calls: []call{{tool: "test_client_elicitation_defaults",
		reply: `{}`, result: "John Doe"}}},
	"sse-retry": {calls: []call{{tool: "test_reconnection",
		result: "Reconnection test completed"}}},
	"json-schema-2020-12-preservation": {calls: []call{{tool: "json_schema_echo",
		schemaOf: "json_schema_2020_12_tool", result: "echoed"}}},
	"sep-2322-client-request-state": {calls: []call{
		{tool: "test_mrtr_echo_state", reply: `{"confirmed":true}`, result: "echo-state-ok"},
		{tool: "test_mrtr_unrelated", result: "unrelated-ok"},
		{tool: "test_mrtr_no_state", reply: `{"confirmed":true}`, result: "no-state-ok"},
		{tool: "test_mrtr_no_result_type", result: "no-result-type-test-ok"},
	}},
	"http-standard-headers": {calls: []call{{tool: "test_headers"}, {tool: "my-hyphenated-tool"}}},
	"http-custom-headers": {calls: []call{
		{tool: "test_custom_headers", arguments: customHeaders, result: "completed"},
		{tool: "test_custom_headers_null", result: "completed",
			arguments: `{"region":"us-east1","priority":1,"query":"SELECT 1"}`}}},
	"http-invalid-tool-headers": {calls: []call{{tool: "valid_tool",
		arguments: `{"region":"us-west1"}`, result: "Tool call received"}}},
	// The import alone would fetch the reference.
	"json-schema-ref-no-deref": {},

	// The server offers no way to register; the suite checks that no token is requested.
	"auth/resource-mismatch": {login: true, refused: "failed to register client"},
	"auth/iss-supported-missing": {login: true,
		refused: "none was received in the authorization response"},
	"auth/iss-wrong-issuer": otherIssuer,
	"auth/iss-unexpected":   otherIssuer,
	"auth/iss-normalized":   otherIssuer,
	"auth/metadata-issuer-mismatch": {login: true,
		refused: "does not match issuer URL"},
	// The second login is for the call and requests more scopes.
	"auth/scope-step-up": {login: true, shared: true, calls: loginCalls},
	// The server accepts no token, whatever its scopes.
	"auth/scope-retry-limit": {login: true,
		calls: []call{{tool: "absent", failure: api.ErrPreconditionFailed}},
		spec: "{name: absent, version: 1.0.0, description: Is out of reach., entry: {type: mcp, url: %q, allow: [localhost], answer_within: 1m, auth: {type: oauth}, pin: \"sha256:" +
			strings.Repeat("0", 64) + "\"}}"},
}

// otherIssuer is for an authorization server that answers as another one than the MCP server names.
var otherIssuer = scenario{login: true, refused: "does not match expected issuer"}

// noTools is for a server without tools, so that nothing can be imported and called.
var noTools = scenario{calls: []call{{tool: "absent", failure: api.ErrPreconditionFailed}},
	spec: "{name: absent, version: 1.0.0, description: Is not there., entry: {type: mcp, url: %q, allow: [localhost], pin: \"sha256:" +
		strings.Repeat("0", 64) + "\"}}"}

// customHeaders are the arguments that the suite wants in headers.
const customHeaders = `{"region":"us-west1","priority":42,"verbose":false,"debug":true,
	"empty_val":"","method_val":"test-method","float_val":3.14159,"non_ascii_val":"Hello, 世界",
	"whitespace_val":" padded ","leading_space_val":" us-west1","trailing_space_val":"us-west1 ",
	"internal_space_val":"us west 1","control_char_val":"line1\nline2","crlf_val":"line1\r\nline2",
	"tab_val":"\tindented","query":"SELECT * FROM users"}`

var loginCalls = []call{{tool: "test-tool", result: "test"}}

// visit runs one scenario: it imports the tools of the suite's server into a folder and starts a
// worker that calls them.
type visit struct {
	t      *testing.T
	ctx    context.Context
	name   string
	server string
	tools  string
	client client.Client
	// address is the Temporal server's.
	address string
	// queue is the task queue of the scenario's worker and the prefix of its runs' ids.
	queue string
	// connection has the flags of starter and of the worker.
	connection []string
	// about is the suite's description of the scenario.
	about struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		Issuer       string `json:"issuer"`
	}
}

func newVisit(t *testing.T, ctx context.Context, d *driver, name, server, about string) *visit {
	queue, address := d.queue+"/"+name, d.server.Address
	v := &visit{t: t, ctx: ctx, name: name, server: server, tools: filepath.Join(t.TempDir(),
		"tools"), client: d.server.Client,
		address: address, queue: queue, connection: []string{"--address", address, "--task-queue",
			queue}}
	if about != "" {
		if err := json.Unmarshal([]byte(about), &v.about); err != nil {
			t.Fatalf("%s: %v", contextVariable, err)
		}
	}
	return v
}

// make does what the scenario requires and returns why it could not.
func (v *visit) make() error {
	wanted, known := scenarios[v.name]
	switch {
	case !known && strings.HasPrefix(v.name, "auth/"):
		wanted = scenario{login: true, calls: loginCalls}
	case !known:
		return fmt.Errorf("scenarios has no entry for %s", v.name)
	}
	err := v.provide(wanted)
	if wanted.refused != "" {
		if err == nil || !strings.Contains(err.Error(), wanted.refused) {
			return fmt.Errorf("the import ended with %w, want %q", err, wanted.refused)
		}
		return nil
	}
	if err != nil {
		return err
	}
	var ready struct{ Tools []string }
	testserver.Start(v.t, &ready, v.environment(), testserver.Bin(v.t, "worker"),
		append([]string{"--tools", v.tools, "--logins", v.logins(wanted, "worker")},
			v.connection...)...)
	for i, c := range wanted.calls {
		if err := v.call(fmt.Sprintf("%s/%d", v.queue, i+1), c, wanted.login); err != nil {
			return err
		}
	}
	return nil
}

// provide fills the folder of tools.
func (v *visit) provide(wanted scenario) error {
	if wanted.spec != "" {
		err := os.Mkdir(v.tools, 0o700)
		return errors.Join(err, os.WriteFile(filepath.Join(v.tools, "tool.yaml"),
			fmt.Appendf(nil, wanted.spec, v.server), 0o600))
	}
	if wanted.login {
		return v.importWithLogin(v.logins(wanted, "starter"))
	}
	if _, err := v.starter("tools", "import", v.server, "--kind", "mcp", "--allow", "localhost",
		"--out", v.tools); err != nil {
		return err
	}
	for _, c := range wanted.calls {
		if err := v.letAsk(c); err != nil {
			return err
		}
	}
	return nil
}

// letAsk lets the server ask a person during a call in a toolspec, which an import does not decide.
func (v *visit) letAsk(c call) error {
	if c.reply == "" {
		return nil
	}
	file := filepath.Join(v.tools, c.tool+".yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, bytes.Replace(text, []byte("\nentry:\n"),
		[]byte("\nentry:\n  answer_within: 1m\n"), 1), 0o600)
}

// call runs one call and returns how its end differs from the expected one.
func (v *visit) call(id string, c call, login bool) error {
	arguments, err := v.argumentsOf(c)
	if err != nil {
		return err
	}
	ctx, ended := context.WithCancel(v.ctx)
	replied := make(chan error, 1)
	go func() {
		if login {
			replied <- v.logIn(ctx, id)
			return
		}
		replied <- v.reply(ctx, id, c.reply)
	}()
	text, err := v.starter(append([]string{"call", c.tool, arguments, "--id", id, "--output",
		"json"}, v.connection...)...)
	ended()
	if c.failure == "" {
		err = errors.Join(err, <-replied)
	}
	var end struct {
		Result api.RunResult
		Record api.Record
	}
	if bad := json.Unmarshal(text, &end); bad != nil {
		return errors.Join(err, bad)
	}
	if e := end.Record.Error; c.failure != "" && e != nil && e.Type == c.failure {
		return nil
	}
	if err != nil {
		return err
	}
	if c.failure != "" || end.Record.Status != api.CallCompleted || end.Record.Attempts != 1 ||
		!strings.Contains(jsonvalue.Plain(end.Result.Output), c.result) {
		return fmt.Errorf("the call of %s ended otherwise than in one attempt and with %q%s: %s",
			c.tool, c.result, c.failure, text)
	}
	return nil
}

func (v *visit) argumentsOf(c call) (string, error) {
	if c.schemaOf == "" {
		return cmp.Or(c.arguments, "{}"), nil
	}
	text, err := v.starter("tools", "show", c.schemaOf, "--tools", v.tools, "--output", "json")
	if err != nil {
		return "", err
	}
	var shown struct {
		Schema json.RawMessage `json:"compiled_input_schema"`
	}
	err = json.Unmarshal(text, &shown)
	return fmt.Sprintf(`{"schema":%s}`, shown.Schema), err
}

// reply waits for the run's question and answers it once; an empty reply does nothing.
func (v *visit) reply(ctx context.Context, id, reply string) error {
	if reply == "" {
		return nil
	}
	if len(v.questions(ctx, id)) == 0 {
		return fmt.Errorf("run %s has no question", id)
	}
	_, err := v.starter("answer", id, "--value", reply, "--by", "the suite", "--address", v.address)
	return err
}

// questions waits until the run has open questions and returns them; none if ctx ends first.
func (v *visit) questions(ctx context.Context, id string) []api.Question {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		var open []api.Question
		value, err := v.client.QueryWorkflow(ctx, id, "", api.QuestionsQuery)
		if err == nil && value.Get(&open) == nil && len(open) > 0 {
			return open
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// starter runs a command and returns its output, also with an error.
func (v *visit) starter(args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := v.command(args)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("starter %s: %w\n%s%s", strings.Join(args, " "), err,
			&stdout, &stderr)
	}
	return stdout.Bytes(), nil
}

func (v *visit) command(args []string) *exec.Cmd {
	cmd := exec.CommandContext(v.ctx, testserver.Bin(v.t, "starter"), args...)
	cmd.Env = append(os.Environ(), v.environment()...)
	return cmd
}
