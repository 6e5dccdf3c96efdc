package activities

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/command"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// hidingCall executes a call as the activity does between the spec and the result, without a
// server.
func hidingCall(t *testing.T, spec toolspecs.Spec, args string, execute func(context.Context,
	*toolspecs.Spec, json.RawMessage) (executor.Answer, error)) (executor.Answer, *api.Error) {
	t.Helper()
	compiled, err := spec.Compile()
	if err != nil {
		t.Fatal(err)
	}
	h := executor.NewRedactor(compiled, json.RawMessage(args))
	ctx := executor.WithRedactor(t.Context(), h)
	answer, err := execute(ctx, &compiled.Spec, json.RawMessage(args))
	if err != nil {
		return executor.Answer{}, h.Error(executor.CallError(ctx, err, &compiled.Spec))
	}
	return h.Answer(answer), nil
}

func keyFile(t *testing.T) (path, value string) {
	t.Helper()
	path, value = filepath.Join(t.TempDir(), "key"),
		"-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD9\n-----END KEY-----"
	if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path, value
}

// A program gets secrets under the names in its spec, also with several lines. Its failure contains
// neither them, nor a token that env passes, nor a sensitive argument. Its answer loses only the
// secrets, with a note.
func TestCommandSecrets_AreHidden(t *testing.T) {
	t.Setenv("BASE_PASSWORD", "planted-password")
	t.Setenv("API_TOKEN", "planted-token")
	path, key := keyFile(t)
	spec := toolspecs.Spec{Name: "probe", Version: "1.0.0", Description: "Probes.",
		Parameters: []toolspecs.Parameter{{Name: "card", Type: "string", Sensitive: true}},
		Entry: toolspecs.Entry{Kind: toolspecs.CommandEntry{Argv: []string{"sh", "-c",
			`printf '%s|%s|%s|%s' "$PGPASSWORD" "$API_TOKEN" "$KEY" "$1" | tee /dev/stderr; exit "$2"`,
			"sh", "{{args.card}}", "0"},
			Env:     []string{"API_TOKEN"},
			Secrets: map[string]string{"PGPASSWORD": "env:BASE_PASSWORD", "KEY": "file:" + path}}}}
	const args = `{"card":"4111-1111-1111"}`
	answer, failure := hidingCall(t, spec, args, command.Executor{}.Execute)
	if failure != nil || jsonvalue.Plain(
		answer.Output) != "[secret]|[secret]|[secret]|4111-1111-1111" || len(answer.Notes) != 1 ||
		answer.Notes[0] != executor.NoteHidden {
		t.Errorf("got %s, %q, %v", answer.Output, answer.Notes, failure)
	}
	entry := spec.Entry.Kind.(toolspecs.CommandEntry)
	entry.Argv[len(entry.Argv)-1] = "3"
	_, failure = hidingCall(t, spec, args, command.Executor{}.Execute)
	if failure == nil || failure.Message != "the program ended with exit code 3: [secret]|[secret]|[secret]|***" || strings.Contains(failure.Message, "MIIB") {
		t.Errorf("got %v", failure)
	}
	if lines := strings.Split(key, "\n"); strings.Contains(failure.Error(), lines[1]) {
		t.Errorf("a line of the key is in %v", failure)
	}
	entry.Secrets["PGPASSWORD"] = "env:NOT_SET_ANYWHERE"
	if _, failure = hidingCall(t, spec, args, command.Executor{}.Execute); failure == nil ||
		failure.Type != api.ErrPreconditionFailed || failure.Message != "the secret env:NOT_SET_ANYWHERE is not set on this worker" {
		t.Errorf("got %v", failure)
	}
}

// A Go function can read only the secrets that its spec names. They are in none of its outputs:
// answer, notes, error, panic, progress or question.
func TestFunctionSecrets_AreHidden(t *testing.T) {
	t.Setenv("BASE_PASSWORD", "planted-password")
	spec := toolspecs.Spec{Name: "probe", Version: "1.0.0", Description: "Probes.",
		Parameters: []toolspecs.Parameter{{Name: "how", Type: "string"},
			{Name: "card", Type: "string", Sensitive: true}},
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{
			Secrets: map[string]string{"password": "env:BASE_PASSWORD"}}}}
	var reports []string
	f := tool.NewFunction("probe", func(ctx context.Context,
		in struct{ How, Card string }) (map[string]string, error) {
		password, err := tool.Secret(ctx, "password")
		if err != nil {
			return nil, err
		}
		leaked := password + " " + in.Card
		callcontext.ReportProgress(ctx, api.Progress{Message: leaked})
		switch in.How {
		case "fails":
			return nil, errors.New("no: " + leaked)
		case "panics":
			panic(leaked)
		case "asks for another":
			_, err = tool.Secret(ctx, "other")
		}
		return map[string]string{"leaked": leaked}, err
	})
	functions, err := function.New(f)
	if err != nil {
		t.Fatal(err)
	}
	execute := func(ctx context.Context, spec *toolspecs.Spec,
		args json.RawMessage) (executor.Answer, error) {
		ctx = callcontext.WithProgress(ctx, func(p api.Progress) {
			reports = append(reports,
				p.Message)
		})
		return functions.Execute(executor.RedactorFromContext(ctx).RedactReports(ctx), spec, args)
	}
	for how, want := range map[string]string{
		"answers":          `{"leaked":"[secret] 4111-1111-1111"}`,
		"fails":            "no: [secret] ***",
		"panics":           "the tool's function panicked: [secret] ***",
		"asks for another": `secret "other" is not named by the toolspec; add entry.secrets: {other: env:NAME} or file:/path`,
	} {
		answer, failure := hidingCall(t, spec, `{"How":"`+how+`","Card":"4111-1111-1111"}`, execute)
		if got := string(answer.Output); failure != nil {
			if got = failure.Message; got != want {
				t.Errorf("%s: got %s, want %s", how, got, want)
			}
		} else if got != want {
			t.Errorf("%s: got %s, want %s", how, got, want)
		}
	}
	for _, message := range reports {
		if message != "[secret] ***" {
			t.Errorf("progress is %q", message)
		}
	}
	if _, err := tool.Secret(t.Context(), "password"); err == nil {
		t.Error("a secret can be read outside of a call")
	}
	var none *executor.Redactor
	if none.Hide("x"); none.Text("x") != "x" || none.Plain(nil) != nil ||
		none.Answer(executor.Answer{Notes: []string{"x"}}).Notes[0] != "x" {
		t.Error("hiding nothing changed something")
	}
}

// The streamed text of a model and the message of its server about a failure contain no sensitive
// value of the conversation.
func TestModelStep_HidesSensitiveValues(t *testing.T) {
	catalog := api.Catalog{Tools: []api.Tool{{Name: "plain"},
		{Name: "login", Sensitive: []string{"password"},
			OutputMask: &redaction.Mask{Keys: map[string]*redaction.Mask{"token": {All: true}}}},
		{Name: "secret_word", OutputMask: &redaction.Mask{All: true}}}}
	messages := []api.Message{
		{Role: api.RoleAssistant, Calls: []api.Call{{ID: "1.1", Tool: "login",
			Arguments: `{"password":"hunter22"}`}, {ID: "1.2", Tool: "secret_word",
			Arguments: "{}"}}},
		{Role: api.RoleTool, CallID: "1.1", Text: `{"token":"token-42"}` + api.NotesBegin +
			"slow]"},
		{Role: api.RoleTool, CallID: "1.2", Text: "open sesame"},
		{Role: api.RoleTool, CallID: "1.3", Text: "anything"},
	}
	hider := sensitiveIn(catalog, messages)
	heard := ""
	say := hiddenLive(hider, func(piece string) { heard += piece })
	for _, r := range "With hunter22 I got token-42: open sesame. hunter" {
		say(string(r))
	}
	if heard != "With *** I got ***: ***. " {
		t.Errorf("got %q", heard)
	}
	err := hiddenFailure(hider, &models.Error{Message: "refused: hunter22", Overflow: true})
	if e, ok := errors.AsType[*models.Error](err); !ok || e.Message != "refused: ***" ||
		!e.Overflow {
		t.Errorf("got %#v", err)
	}
	if err := hiddenFailure(hider, errors.New("hunter22")); err.Error() != "***" {
		t.Errorf("got %v", err)
	}
	if sensitiveIn(api.Catalog{Tools: catalog.Tools[:1]}, messages) != nil ||
		hiddenLive(nil, nil) != nil {
		t.Error("there is nothing to hide")
	}
}
