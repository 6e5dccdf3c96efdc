package inspect

import (
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// lineage shows the source of a forked run, and the forks of a run.
func (s shownRun) lineage(field func(name, value string)) {
	if s.Fork != nil {
		field("forked from", forkText(s.invocation, *s.Fork))
	}
	for _, f := range s.Forks {
		field("fork", "at "+f.At+": "+s.invocation.Command("show", f.WorkflowID))
	}
}

// forkText describes the source of a forked run.
func forkText(i cli.Invocation, from api.Fork) string {
	text := fmt.Sprintf("%s at %s; %s taken over", from.WorkflowID, from.At,
		display.Plural(from.Calls, "result"))
	if len(from.Edited) > 0 {
		text += "; edited: " + strings.Join(from.Edited, ", ")
	}
	return cli.OneLine(text) + ": " + i.Command("show", from.WorkflowID)
}
