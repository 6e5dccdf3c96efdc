package audit

import (
	"context"
	"strings"

	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Awaited is what a run waits for people to do.
type Awaited string

// What a run may wait for.
const (
	AwaitsApproval Awaited = "approval"
	AwaitsAnswer   Awaited = "answer"
)

// ListAwaited lists what people have to do for a run with calls that wait for approval, or with
// open questions.
func ListAwaited(approvals, questions bool) (list []Awaited) {
	if approvals {
		list = append(list, AwaitsApproval)
	}
	if questions {
		list = append(list, AwaitsAnswer)
	}
	return list
}

var awaitedText = map[Awaited]string{AwaitsApproval: "approval", AwaitsAnswer: "an answer"}

// StatusText returns the status of a run for people: the status or, for a running run, what it
// waits for.
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

// Awaits returns what people have to do for a run and for the runs of its sub-agents; nothing for a
// closed run. Parameters and errors are those of Questions.
func Awaits(ctx context.Context, c client.Client, workflowID, runID string) ([]Awaited, error) {
	approvals, err := Approvals(ctx, c, workflowID, runID)
	if err != nil {
		return nil, err
	}
	questions, err := Questions(ctx, c, workflowID, runID)
	return ListAwaited(len(approvals) > 0, len(questions) > 0), err
}
