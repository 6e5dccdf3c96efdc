package cli

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/value/display"
)

// Invocation holds what a printed command line needs, besides its arguments, to connect to the same
// server as the current command.
type Invocation struct {
	// program is how starter was called.
	program string
	// worker is the command for the worker program beside starter.
	worker string
	// flags are the given connection flags, each preceded by a space. Environment and profiles
	// apply to the printed command as well.
	flags string
}

// Program returns the name or path starter was called by.
func (c *Connection) Program() string { return cmp.Or(c.program, ProgramName) }

// Invocation returns the connection's invocation without secrets, which must not be printed.
func (c *Connection) Invocation() Invocation {
	return Invocation{program: c.Program(), worker: c.workerProgram(),
		flags: c.Arguments() + c.StorageFlags()}
}

// workerName is the default name of the worker program.
const workerName = "worker"

// workerProgram returns the command for the worker: the path beside starter if starter was called
// by a path and the worker exists there.
func (c *Connection) workerProgram() string {
	if !strings.ContainsRune(c.Program(), filepath.Separator) {
		return workerName
	}
	// filepath.Join would remove the leading ./ that prevents a lookup in PATH.
	beside := filepath.Dir(c.Program()) + string(filepath.Separator) + workerName
	if _, err := exec.LookPath(beside); err != nil {
		return workerName
	}
	return beside
}

// WorkerCommand returns a command line that starts a worker for a lane, or for runs if lane is
// empty.
func (r Invocation) WorkerCommand(queue, lane string, more ...string) string {
	words := []string{cmp.Or(r.worker, workerName)}
	if lane != "" {
		words = append(words, "--lanes", LaneFromName(LaneName(lane)))
	}
	if queue != "" && queue != api.DefaultTaskQueue {
		words = append(words, "--task-queue", display.ShellWord(queue))
	}
	return strings.Join(append(words, more...), " ") + r.flags
}

// StorageFlags returns the given payload storage flags, each preceded by a space.
func (c *Connection) StorageFlags() string {
	text := ""
	for _, argument := range c.Payloads.Arguments() {
		text += " " + display.ShellWord(argument)
	}
	return text
}

// Command returns a starter command line that can be pasted.
func (r Invocation) Command(name string, arguments ...string) string {
	words := []string{cmp.Or(r.program, ProgramName), name}
	for _, argument := range arguments {
		words = append(words, display.ShellWord(argument))
	}
	return strings.Join(words, " ") + r.flags
}

// ShowCommand returns the command line that shows the run that another one continues. Empty for
// none.
func (r Invocation) ShowCommand(run *api.ContinuedRun) string {
	if run == nil {
		return ""
	}
	return r.Command("show", (&RunRef{run.WorkflowID, run.RunID}).String())
}

// HowToAnswer returns the command line that answers a question, without the answer.
func (r Invocation) HowToAnswer(q audit.RunQuestion) string {
	answer := " --value JSON"
	if wantsText(q.Schema) {
		answer = " --text TEXT"
	}
	return r.Command("answer", q.WorkflowID, q.ID) + answer
}

// HowToApprove returns the command line that approves a call.
func (r Invocation) HowToApprove(a audit.RunApproval) string {
	command := r.Command("approve", a.WorkflowID, a.Call)
	if a.Limit != "" {
		command += " --grant " + a.Limit + "=AMOUNT"
	}
	return command
}

// HowToDeny returns the command line that denies a call.
func (r Invocation) HowToDeny(a audit.RunApproval) string {
	return r.Command("deny", a.WorkflowID, a.Call) + " --reason TEXT"
}
