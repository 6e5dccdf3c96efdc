package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"go.temporal.io/sdk/client"
)

// shop starts a worker of the examples, in a folder in which the toolspecs find bin/kinds.
func (l *lab) shop() *testserver.Process {
	l.t.Helper()
	program, dir := testserver.Bin(l.t, "kinds"), l.t.TempDir()
	if err := os.Symlink(filepath.Dir(program), filepath.Join(dir, "bin")); err != nil {
		l.t.Fatal(err)
	}
	return l.program(program, nil, "--tools", "../../../examples/kinds/tools", "--dir", dir)
}

// order starts the run that uses a tool of every kind.
func (l *lab) order(id string) client.WorkflowRun {
	l.t.Helper()
	agent, err := agents.Load("../../../examples/kinds/together/agent.yaml", agents.Known{})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.run(api.AgentWorkflow, id, api.RunInput{Agent: agent,
		Prompt: "Ten lamps to Oslo, please."})
}

// accept replies to the clerk's question.
func (l *lab) accept(id, question string) {
	l.t.Helper()
	if refused := l.reply(id, api.Reply{Question: question,
		Value: json.RawMessage(`{"accepted":true}`), By: "clerk"}); refused != nil {
		l.t.Fatalf("the reply was refused: %v", refused)
	}
}

// ended reports whether a call of a run has a completed record.
func (l *lab) ended(run client.WorkflowRun, call string) bool {
	return slices.ContainsFunc(l.records(run), func(r api.Record) bool {
		return r.CallID == call && r.Status == api.CallCompleted
	})
}

// One run with a tool of every kind has the same answer as an undisturbed one, with one completed
// record per call, although its worker is killed with kill -9 at three points: early, when a
// sub-agent and a question start, and while only the question is open. Another kill follows the
// reply.
func TestAllKinds_SurviveKilledWorkers(t *testing.T) {
	l := newLab(t)
	worker := l.shop()
	undisturbed := l.order("undisturbed")
	for id := range l.awaitQuestions("undisturbed", 1) {
		l.accept("undisturbed", id)
	}
	want := l.result(undisturbed)
	const answer = `10 x lamp to Oslo: 220.5, 40 in stock, 2 days. The courier says "2 x lamp to Oslo, there in 2 days"; the clerk's answer is true.`
	if want.Answer != answer {
		t.Errorf("the undisturbed run answered %q, want %q", want.Answer, answer)
	}

	disturbed := l.order("disturbed")
	l.await("the first call of the cart", func() bool { return l.ended(disturbed, "1.4") })
	worker.Kill()
	worker = l.shop()
	var question string
	for id := range l.awaitQuestions("disturbed", 1) {
		question = id
	}
	worker.Kill()
	worker = l.shop()
	l.await("the cart and the sub-agent", func() bool {
		return l.ended(disturbed, "2.1") &&
			l.ended(disturbed, "2.2")
	})
	worker.Kill()
	worker = l.shop()
	l.accept("disturbed", question)
	worker.Kill()
	l.shop()
	if got := l.result(disturbed); !reflect.DeepEqual(got, want) {
		t.Errorf("the disturbed run: got %+v, want %+v", got, want)
	}
	kinds := map[string]int{}
	for _, r := range l.records(disturbed) {
		kinds[r.Tool]++
		if r.Status != api.CallCompleted {
			t.Errorf("call %s of %s is %s: %v", r.CallID, r.Tool, r.Status, r.Error)
		}
	}
	expected := map[string]int{"price": 1, "stock": 1, "delivery_days": 1, "cart": 2, "courier": 1,
		"clerk": 1, "label": 1}
	if !reflect.DeepEqual(kinds, expected) {
		t.Errorf("calls on record: %v, want %v", kinds, expected)
	}
}
