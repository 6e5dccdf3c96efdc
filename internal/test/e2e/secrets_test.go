package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"google.golang.org/protobuf/proto"
)

// confess returns its secret and its sensitive argument: in progress, and in its answer or its
// error.
var confess = tool.NewFunction("confess", func(ctx context.Context, in struct {
	Card struct {
		Number string `json:"number,omitzero"`
		Bank   string `json:"bank,omitzero"`
	} `json:"card,omitzero"`
	Fail bool `json:"fail,omitzero"`
}) (map[string]string, error) {
	pass, err := tool.Secret(ctx, "PASS")
	if err != nil {
		return nil, err
	}
	leaked := pass + " " + in.Card.Number
	callcontext.ReportProgress(ctx, api.Progress{Message: leaked})
	if in.Fail {
		return nil, errors.New("no: " + leaked)
	}
	return map[string]string{"values": leaked, "bank": in.Card.Bank, "token": "granted-value-7"}, nil
})

// The secrets and sensitive values of TestSecrets_AreNowhere. None is a part of another.
const (
	restSecret    = "planted/rest&1"
	commandSecret = "planted-command-2\nof several lines that are long"
	goSecret      = "planted-go-3"
	mcpSecret     = "planted-mcp-4"
	passedSecret  = "planted-passed-5"
	cardNumber    = "4111-1111-0000-6"
	granted       = "granted-value-7"
)

const secretTools = `
name: confess
version: 1.0.0
description: Returns all values.
parameters:
  - name: card
    type: object
    validation:
      properties: [{name: number, type: string, sensitive: true, validation: {pattern: "^[0-9-]+$", max_length: 20}}, {name: bank, type: string}]
  - {name: fail, type: boolean}
output: {type: object, validation: {properties: [{name: values, type: string}, {name: bank, type: string}, {name: token, type: string, sensitive: true}]}}
entry: {type: function, secrets: {PASS: env:GO_SECRET}}
execution: {effect: read, retry: {max_attempts: 1}}
---
name: shout
version: 1.0.0
description: Runs a program that returns all values.
parameters: [{name: card, type: string, sensitive: true}, {name: code, type: integer}]
entry:
  type: command
  argv: [sh, -c, 'printf "%%s %%s %%s" "$KEY" "$API_TOKEN" "$1" | tee /dev/stderr; exit "$2"', sh, "{{args.card}}", "{{args.code}}"]
  env: [API_TOKEN]
  secrets: {KEY: "file:%s"}
execution: {effect: read, retry: {max_attempts: 1}}
---
name: fetch
version: 1.0.0
description: Asks an API that returns all values.
parameters: [{name: card, type: string, sensitive: true}, {name: path, type: string, required: true}]
entry: {type: rest, base_url: %q, path: "/{{args.path}}", query: {card: "{{args.card}}"}, allow: [127.0.0.1], auth: {type: bearer, secret: env:REST_SECRET}}
execution: {effect: read, retry: {max_attempts: 1}}
`

// Secrets are in no output, whatever kind of tool repeats them, and not even in raw history.
// Sensitive values are only there: in no record, event, printed view, log or metric, whether tools
// repeat them in answers and failures, the model in its text, or another call.
func TestSecrets_AreNowhere(t *testing.T) {
	l := newLab(t)
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		if r.URL.Path == "/fail" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+r.RequestURI)
	})
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(commandSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := l.mcpTools(map[string]string{"env": ", secrets: {MCP_SECRET: env:MCP_SECRET}" + isRead,
		"args": isRead})
	if err := os.WriteFile(filepath.Join(dir, "secrets.yaml"), fmt.Appendf(nil, secretTools, key,
		a.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	worker := l.workerIn([]string{"REST_SECRET=" + restSecret, "GO_SECRET=" + goSecret,
		"MCP_SECRET=" + mcpSecret, "API_TOKEN=" + passedSecret},
		"--tools", dir, "--metrics-address", "127.0.0.1:0", "--log-level", "debug")

	card := fmt.Sprintf(`{"number":%q,"bank":"of Ada"}`, cardNumber)
	teller := agent(
		step(call("confess", `{"card":`+card+`}`), call("confess", `{"card":`+card+`,"fail":true}`),
			call("confess", `{"card":{"number":"is `+cardNumber+`"}}`),
			call("shout", `{"card":"`+cardNumber+`","code":0}`), call("shout", `{"card":"`+
				cardNumber+`","code":3}`),
			call("fetch", `{"card":"`+cardNumber+`","path":"answer"}`), call("fetch", `{"card":"`+
				cardNumber+`","path":"fail"}`), call("env", `{}`)),
		step(call("args", `{"text":"the card `+cardNumber+` and `+granted+`"}`)),
		answer("I used "+cardNumber+" and got "+granted+"."))
	teller.Tools = []string{"confess", "shout", "fetch", "env", "args"}
	run := l.runAgent("run", teller)
	l.result(run)
	code, called := l.command("call", "confess", `{"card":`+card+`}`, "--id", "called", "--tools",
		dir)
	if want := `"token":"***"`; code != 0 || !strings.Contains(strings.ReplaceAll(called, " ", ""),
		want) || !strings.Contains(called, "of Ada") {
		t.Errorf("the direct call printed, with code %d:\n%s", code, called)
	}

	raw, shown := map[string]string{}, map[string]string{"call": called, "metrics": l.readMetrics()}
	for _, id := range []string{"run", "called"} {
		for i, h := range l.histories(id, "") {
			data, err := proto.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			raw[fmt.Sprint("history ", i, " of ", id)] = string(data)
		}
		for _, view := range []string{"show", "audit", "watch"} {
			for _, format := range []string{"text", "json"} {
				_, shown[strings.Join([]string{view, id, format}, " ")] = l.command(view, id,
					"--output", format)
			}
		}
	}
	records, err := json.Marshal(l.records(run))
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(worker.Log)
	if err != nil {
		t.Fatal(err)
	}
	shown["records"], shown["log"] = string(records), string(log)
	secrets := []string{restSecret, "planted%2Frest", goSecret, mcpSecret, passedSecret,
		"planted-command-2", "several lines"}
	mustLack(t, raw, secrets)
	mustLack(t, shown, append(secrets, cardNumber, granted))
	if n := strings.Count(shown["records"], "[secret]"); n < 7 {
		t.Errorf("%d secrets were taken out of the records: %s", n, shown["records"])
	}
	for _, want := range []string{"validation_error", "of Ada", "I used *** and got ***."} {
		if !strings.Contains(shown["watch run json"], want) {
			t.Errorf("%q is not in the events:\n%s", want, shown["watch run json"])
		}
	}
}

// mustLack fails if a text contains one of the values, or is too short to be complete.
func mustLack(t *testing.T, texts map[string]string, values []string) {
	t.Helper()
	for name, text := range texts {
		if len(text) < 50 {
			t.Errorf("%s: only %q", name, text)
		}
		for _, v := range values {
			if i := strings.Index(text, v); i >= 0 {
				t.Errorf("%s: %s is in …%q", name, v, text[max(0, i-100):i+len(v)])
			}
		}
	}
}
