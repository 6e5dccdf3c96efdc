package decide

import (
	"context"
	"errors"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
)

// waiting is a call or a question that waits for a person.
type waiting struct {
	workflowID, id string
	// command decides or answers it.
	command string
}

// pick returns the index of the one that is meant, by its ID or by its path below the run; with an
// empty ID the only one. Of two with the same ID it prefers the run's own. It returns -1 for an ID
// that none has: the run then says what became of it.
func pick(run *cli.RunRef, all []waiting, id, none string) (int, error) {
	fits := match(run, all, id)
	switch {
	case len(fits) == 0 && id != "":
		return -1, nil
	case len(fits) == 0:
		return -1, cli.Errorf(cli.ExitFailed, "%s", none)
	case len(fits) > 1:
		var lines strings.Builder
		for _, i := range fits {
			lines.WriteString("\n  " + all[i].command)
		}
		return -1, cli.Errorf(cli.ExitUsage, "%d match; select one:%s", len(fits), lines.String())
	}
	return fits[0], nil
}

// match returns the indexes of those that an ID can mean.
func match(run *cli.RunRef, all []waiting, id string) (fits []int) {
	for i, w := range all {
		path := api.CallPath(w.workflowID, w.id)
		switch {
		case id != "" && w.id == id && w.workflowID == run.WorkflowID:
			return []int{i}
		case id == "" || w.id == id || path == api.CallPath(run.WorkflowID, id):
			fits = append(fits, i)
		}
	}
	return fits
}

// replyError explains why a run did not accept a decision or an answer. open says that what was
// decided or answered still waits.
func replyError(ctx context.Context, a *cli.App, run *cli.RunRef, what, open string,
	err error) error {
	r := a.Connection.Invocation()
	refused, isRefused := errors.AsType[*api.ReplyError](err)
	switch {
	case ctx.Err() != nil:
		return cli.Errorf(cli.ExitCancelled, "interrupted; the run may still accept the %s\n"+
			"Check: %s", what, r.Command("show", run.WorkflowID))
	case !isRefused:
		return a.LookupError(run.WorkflowID, run.RunID, err)
	}
	switch refused.Type {
	case api.ReplyUnfit, api.ReplyMalformed, api.DecisionUnfit:
		text := refused.Message
		for _, p := range refused.Problems {
			text += "\n  " + p.String()
		}
		return cli.Errorf(cli.ExitUsage, "%s\n%s", text, open)
	}
	return cli.Errorf(cli.ExitFailed, "the %s was rejected: %s\nList what waits: %s", what,
		refused.Message, r.Command("approvals", run.WorkflowID))
}
