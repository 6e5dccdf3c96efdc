package runs

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
)

// Values of --if-busy.
const (
	busyRefuse = "refuse"
	busyWait   = "wait"
)

// goOn makes an agent's run continue the conversation that the flags name, if any.
func (s *startFlags) goOn(cmd *cobra.Command, to *start) error {
	switch {
	case s.ifBusy != busyRefuse && s.ifBusy != busyWait && s.ifBusy != "":
		return cli.UsageError(cmd, "--if-busy %q is not one of refuse, wait", s.ifBusy)
	case s.conversation == "":
		return nil
	case !display.Sendable(s.conversation):
		return cli.UsageError(cmd,
			"--conversation %q is not valid for an agent, because its runs use it as their ID: use letters, digits and _ - . : /",
			s.conversation)
	case s.id != "" && s.id != s.conversation:
		return cli.UsageError(cmd,
			"--id %q and --conversation %q: runs of a conversation have its ID; remove --id", s.id,
			s.conversation)
	}
	to.id, to.exclusive, to.wait = s.conversation, true, s.ifBusy == busyWait
	to.input.Continue = true
	return nil
}

// busy rejects a run because another run of its conversation is open.
func busy(a *cli.App, s *start, open switchyard.OpenRun) error {
	r, id := a.Connection.Invocation(), open.WorkflowID
	return cli.Errorf(cli.ExitUsage,
		"the conversation %q is busy: %s; nothing was started\nWait for its end: --if-busy wait; follow it: %s; send it a message: %s TEXT; cancel it: %s",
		s.id, aboutRun(open, time.Now()), r.Command("watch", id), r.Command("send", id),
		r.Command("cancel", id))
}

// aboutRun describes the open run.
func aboutRun(open switchyard.OpenRun, now time.Time) string {
	words := "the run " + open.WorkflowID
	if open.Agent != "" {
		words += " of " + open.Agent
	}
	if open.Caller != "" {
		words += ", started by " + open.Caller + ","
	}
	if open.Started.IsZero() {
		return words + " is running"
	}
	return words + " has been running for " + cli.ShortDuration(now.Sub(open.Started))
}
