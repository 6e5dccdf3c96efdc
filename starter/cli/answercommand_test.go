package cli

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/payloads"
)

// The command works for any run id, describes the form of the answer, and reaches the same server.
func TestAnswerCommand_CanBePasted(t *testing.T) {
	for _, test := range []struct {
		connection        Connection
		run, schema, want string
	}{
		{Connection{}, "demo-1", "", "starter answer demo-1 1.1 --text TEXT"},
		{Connection{}, "demo-1/2.1", `{"type":"string","enum":["a"]}`,
			"starter answer demo-1/2.1 1.1 --text TEXT"},
		{Connection{}, "demo-1", `{"type":["string","null"]}`,
			"starter answer demo-1 1.1 --value JSON"},
		{Connection{}, "demo-1", `{"anyOf":[]}`, "starter answer demo-1 1.1 --value JSON"},
		{Connection{}, "it's $HOME", "", `starter answer 'it'\''s $HOME' 1.1 --text TEXT`},
		{connected(t, "--address", "127.0.0.1:9", "--namespace", "default"), "demo-1", "",
			"nowhere/starter answer demo-1 1.1 --address 127.0.0.1:9 --text TEXT"},
		{connected(t, "-n", "my team", "--profile", "prod", "--api-key", "secret"), "demo-1", "",
			"nowhere/starter answer demo-1 1.1 --namespace 'my team' --profile prod --text TEXT"},
		{Connection{Payloads: payloads.Config{Keys: "my keys",
			Compression: payloads.CompressionNone}}, "demo-1", "",
			"starter answer demo-1 1.1 --payload-keys 'my keys' --payload-compression none --text TEXT"},
	} {
		if got := test.connection.Invocation().HowToAnswer(aQuestion(test.run, "1.1", "?",
			test.schema)); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func aQuestion(run, id, text, schema string) audit.RunQuestion {
	return audit.RunQuestion{WorkflowID: run, Question: api.Question{ID: id, Call: "1.1",
		Tool: "ask", Text: text, Schema: []byte(schema)}}
}
