package audit

import (
	"context"
	"strings"

	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Awaited is what a run wants of people.
type Awaited string

// What a run may wait for.
const (
	AwaitsApproval Awaited = "approval"
	AwaitsAnswer   Awaited = "answer"
)

// Awaiting lists what is wanted of people, where calls wait for approval, and where questions are open.
func Awaiting(approvals, questions bool) (list []Awaited) {
	if approvals {
		list = append(list, AwaitsApproval)
	}
	if questions {
		list = append(list, AwaitsAnswer)
	}
	return list
}

var awaitedText = map[Awaited]string{AwaitsApproval: "approval", AwaitsAnswer: "an answer"}

// Standing says how a run stands, in the words that are used wherever people read it: its status or, of a run that would be
// running, what it waits for.
func StatusText(status history.RunStatus, awaited []Awaited) string {
	if status != history.RunRunning || len(awaited) == 0 {
		return string(status)
	}
	words := make([]string, len(awaited))
	for i, a := range awaited {
		words[i] = awaitedText[a]
	}
	return "waits for " + strings.Join(words, " and ")
}

// Awaits returns what a run, and the sub-agents' runs below it, want of people; nothing of a run that is closed. Parameters and
// errors are those of Questions.
func Awaits(ctx context.Context, c client.Client, workflowID, runID string) ([]Awaited, error) {
	approvals, err := Approvals(ctx, c, workflowID, runID)
	if err != nil {
		return nil, err
	}
	questions, err := Questions(ctx, c, workflowID, runID)
	return Awaiting(len(approvals) > 0, len(questions) > 0), err
}
