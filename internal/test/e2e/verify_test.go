package e2e

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/client"
)

type paidAnswer struct {
	Paid    bool   `json:"paid"`
	Receipt string `json:"receipt"`
}

// payments are a tool that pays, and one that reads from the journal what was paid.
func payments() []tool.Function {
	return []tool.Function{
		tool.NewFunction("pay", func(ctx context.Context, in struct {
			AtOnce bool `json:"at_once"`
		}) (string, error) {
			call, _ := callcontext.From(ctx)
			first, second := "begins "+call.Key, "pays "+call.Key
			if in.AtOnce {
				first, second = second, first
			}
			if err := write(ctx, entry{Text: first}); err != nil {
				return "", err
			}
			if err := gateOpens(ctx); err != nil {
				return "", err
			}
			return "receipt", write(ctx, entry{Text: second})
		}),
		tool.NewFunction("paid", func(_ context.Context, in struct {
			Key string `json:"key"`
		}) (paidAnswer, error) {
			journal, err := os.ReadFile(os.Getenv(journalFile))
			return paidAnswer{Paid: strings.Contains(string(journal), `"pays `+in.Key+`"`),
				Receipt: "found"}, err
		}),
	}
}

// paying is a run whose worker is killed while it pays: before it has paid, or after.
func paying(l *lab, id, atOnce string) client.WorkflowRun {
	first := l.worker()
	run := l.runAgent(id, withTools(agent(step(named("p", call("pay", `{"at_once":`+atOnce+`}`))),
		answer("${p}")), "pay"))
	l.awaitEntries(1)
	first.Kill()
	l.openGate()
	l.worker()
	return run
}

// A call that must not run twice is verified after its worker is killed. If it had paid, it is not
// repeated and has the result of the verifying tool. If not, by two answers, it is repeated once,
// as its tool allows. In both cases there is one payment, and one record of the call beside those
// that verified it.
func TestVerify_ResolvesInterruptedCalls(t *testing.T) {
	for _, test := range []struct {
		atOnce, answer string
		verifications  int
		record         string
	}{
		{"true", "found", 1, "1.1 pay completed, 1 attempts, verified by verify-1.1 of paid: the call did not report (outcome_unknown), and it has taken effect"},
		{"false", "receipt", 2, "1.1 pay completed, 2 attempts, "},
	} {
		t.Run(test.atOnce, func(t *testing.T) {
			l := newLab(t)
			run := paying(l, "paying", test.atOnce)
			if r := l.result(run); !strings.HasPrefix(r.Answer, test.answer) ||
				r.Usage.Calls != 1+test.verifications || r.Usage.Failed != 0 {
				t.Errorf("result: %+v", r)
			}
			paid := 0
			for _, e := range l.entries() {
				if strings.HasPrefix(e.Text, "pays ") {
					paid++
				}
			}
			if paid != 1 {
				t.Errorf("paid %d times: %v", paid, l.entries())
			}
			records := l.records(run)
			if len(records) != 1+test.verifications {
				t.Fatalf("records: %v", l.statuses(run))
			}
			verifiedBy, pays := records[0], records[test.verifications]
			if verifiedBy.CallID != "verify-1.1" || verifiedBy.Purpose != api.PurposeVerify ||
				verifiedBy.TargetCallID != "1.1" || verifiedBy.Parent != "1.1" ||
				verifiedBy.Status != api.CallCompleted {
				t.Errorf("the record of the call that verifies: %+v", verifiedBy)
			}
			if got := recordText(pays); got != test.record {
				t.Errorf("got %q, want %q", got, test.record)
			}
			if pays.LastFailure != "no heartbeat of pay arrived for 1s: its worker was lost or could not reach Temporal" {
				t.Errorf("last failure: %q", pays.LastFailure)
			}
		})
	}
}

func recordText(r api.Record) string {
	return fmt.Sprintf("%s %s %s, %d attempts, %s", r.CallID, r.Tool, r.Status, r.Attempts,
		strings.Join(r.Notes, "; "))
}
