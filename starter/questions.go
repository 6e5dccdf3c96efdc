package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// askedAtOnce is how many runs are asked for their questions at a time.
const askedAtOnce = 16

// listedQuestion is an open question as JSON.
type listedQuestion struct {
	audit.RunQuestion
	// Command answers it.
	Command string `json:"command"`
}

func (r reach) listed(open []audit.RunQuestion) []listedQuestion {
	list := make([]listedQuestion, len(open))
	for i, q := range open {
		list[i] = listedQuestion{RunQuestion: q, Command: r.howToAnswer(q)}
	}
	return list
}

func (a *app) questionsCommand() *cobra.Command {
	var ref runReference
	cmd := &cobra.Command{
		Use: "questions [RUN]", Short: "List what runs ask people",
		Long: `Lists the open questions of a run and of the sub-agents below it, or of all runs that run now, the oldest first, each with
the command that answers it. A run asks where it calls a tool of the kind human, or where a tool asks in the middle of a
call; it waits for the answer for as long as the toolspec says, and no program needs to stay connected.`,
		Example: `  starter questions
  starter questions demo-1a2b3c4d
  starter questions --output json | jq -r .command`,
		Args: arguments(0, "RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && ref.workflowID == "" {
				return a.connected(cmd, func(ctx context.Context, c client.Client) error {
					open, missing, err := inAllRuns(ctx, a, c, audit.Questions)
					if err != nil {
						return err
					}
					slices.SortStableFunc(open, func(x, y audit.RunQuestion) int { return x.Asked.Compare(y.Asked) })
					return cmp.Or(missing.or(len(open), func() error { return a.printQuestions(open) }), missing.err())
				})
			}
			return a.onRun(&ref, func(ctx context.Context, c client.Client, run *runReference) error {
				open, err := audit.Questions(ctx, c, run.workflowID, run.runID)
				if err != nil {
					return a.lookupError(run.workflowID, run.runID, err)
				}
				return a.printQuestions(open)
			})(cmd, args)
		},
	}
	ref.add(cmd.Flags())
	return cmd
}

// inAllRuns joins what of returns of the runs that run now. Runs that end meanwhile ask nothing any more; what
// those ask that cannot be read is not known.
func inAllRuns[T any](ctx context.Context, a *app, c client.Client, of func(context.Context, client.Client, string, string) ([]T, error)) (open []T, missing unread, err error) {
	runs, err := listRuns(ctx, c, a.connection.resolvedNamespace, listCondition(`ExecutionStatus = "Running"`, "", false), math.MaxInt32, nil)
	if err != nil {
		return nil, nil, err
	}
	found, faults := make([][]T, len(runs)), make([]error, len(runs))
	slots := make(chan struct{}, askedAtOnce)
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			found[i], faults[i] = of(ctx, c, run.ID, run.RunID)
		})
	}
	all.Wait()
	for i, err := range faults {
		if err != nil && !errors.Is(err, audit.ErrNotFound) && !missing.take(runs[i], err) {
			return nil, nil, err
		}
	}
	return slices.Concat(found...), missing, nil
}

func (a *app) printQuestions(open []audit.RunQuestion) error {
	return printBlocks(a, a.connection.reach().listed(open), "no open questions", func(l listedQuestion) {
		a.format.writeQuestion(a.Out, a.paletteFor(a.Out), l, time.Now())
	})
}

// writeQuestion shows a question with all that is needed to answer it.
func (f *formatFlags) writeQuestion(w io.Writer, p palette, q listedQuestion, now time.Time) {
	head := []string{p.bold(q.WorkflowID + " " + q.ID), q.Tool, "asked " + f.when(q.Asked, now)}
	if !q.Until.IsZero() {
		head = append(head, "open for "+brief(q.Until.Sub(now)))
	}
	fmt.Fprintln(w, strings.Join(head, " · "))
	for line := range strings.SplitSeq(q.Text, "\n") {
		fmt.Fprintln(w, "  "+plainText(line))
	}
	if len(q.Schema) > 0 {
		fmt.Fprintln(w, p.faint("  the answer fits "+api.Shorten(string(q.Schema), maxSchemaText)))
	}
	fmt.Fprintln(w, "  "+q.Command)
}

// maxSchemaText bounds the schema that is shown with a question, in characters.
const maxSchemaText = 300

// plainText keeps a line from steering the terminal.
func plainText(line string) string { return api.Shorten(line, len(line)) }

// wantsText reports whether a text fits a schema as its type goes.
func wantsText(schema json.RawMessage) bool {
	if len(schema) == 0 {
		return true
	}
	var declared struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &declared) == nil && declared.Type == "string"
}
