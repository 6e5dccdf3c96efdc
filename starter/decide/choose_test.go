package decide

import (
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
)

// The question is the named one, also of a sub-agent, the only one, or one that was closed, about
// which the run answers. Nothing is guessed.
func TestChoose_FindsTheQuestionOfAnAnswer(t *testing.T) {
	open := []audit.RunQuestion{openQuestion("demo", "1.1", "?", ""), openQuestion("demo/1.2",
		"1.1", "?", ""), openQuestion("demo/1.2", "2.1", "?", ""), openQuestion("demo/1.3", "2.1",
		"?", "")}
	for _, test := range []struct {
		name, question string
		open           []audit.RunQuestion
		run, chosen    string
		code           int
	}{
		{name: "the run's own", question: "1.1", open: open, run: "demo", chosen: "1.1"},
		{name: "a sub-agent's", question: "2.1", open: open[:3], run: "demo/1.2", chosen: "2.1"},
		{name: "that of several", question: "2.1", open: open, code: cli.ExitUsage},
		{name: "closed", question: "0.1", open: open, run: "demo", chosen: "0.1"},
		{name: "the only one", open: open[:1], run: "demo", chosen: "1.1"},
		{name: "the only one of a sub-agent", open: open[1:2], run: "demo/1.2", chosen: "1.1"},
		{name: "none", code: cli.ExitFailed},
		{name: "one of many", open: open, code: cli.ExitUsage},
	} {
		r := api.Reply{Question: test.question}
		run, err := choose(&cli.RunRef{WorkflowID: "demo"}, test.open, &r, cli.Invocation{})
		if err != nil {
			if own, ok := err.(*cli.ExitError); !ok || own.Code != test.code {
				t.Errorf("%s: %v", test.name, err)
			}
			continue
		}
		if run.WorkflowID != test.run || r.Question != test.chosen || test.code != 0 {
			t.Errorf("%s: question %s of %s", test.name, r.Question, run.WorkflowID)
		}
	}
}

func openQuestion(run, id, text, schema string) audit.RunQuestion {
	return audit.RunQuestion{WorkflowID: run, Question: api.Question{ID: id, Call: "1.1",
		Tool: "ask", Text: text, Schema: []byte(schema)}}
}
