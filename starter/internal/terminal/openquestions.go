package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// ListedQuestion is an open question as JSON.
type ListedQuestion struct {
	audit.RunQuestion
	// Command is the command that answers the question.
	Command string `json:"command"`
}

func QuestionsToList(r cli.Invocation, open []audit.RunQuestion) []ListedQuestion {
	list := make([]ListedQuestion, len(open))
	for i, q := range open {
		list[i] = ListedQuestion{RunQuestion: q, Command: r.HowToAnswer(q)}
	}
	return list
}

// WriteQuestion shows a question and how to answer it.
func WriteQuestion(f *cli.Format, w io.Writer, p cli.Palette, q ListedQuestion, now time.Time) {
	head := []string{p.Bold(q.WorkflowID + " " + q.ID), q.Tool, "asked " + f.When(q.Asked, now)}
	if !q.Until.IsZero() {
		head = append(head, "open for "+cli.ShortDuration(q.Until.Sub(now)))
	}
	fmt.Fprintln(w, strings.Join(head, " · "))
	for line := range strings.SplitSeq(q.Text, "\n") {
		fmt.Fprintln(w, "  "+cli.PlainText(line))
	}
	if len(q.Schema) > 0 {
		fmt.Fprintln(w, p.Faint("  schema of the answer: "+display.Shorten(string(q.Schema), maxSchemaText)))
	}
	fmt.Fprintln(w, "  "+q.Command)
}

// maxSchemaText bounds the schema shown with a question, in characters.
const maxSchemaText = 300
