package cli

import (
	"cmp"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
)

// Invocation is what a command that is shown to people needs beside its arguments to reach the server
// that this one reaches.
type Invocation struct {
	// program is how starter was called.
	program string
	// worker is how to call the worker program that stands beside this one, profiles the file that
	// it is to read them from, where one was named.
	worker, profiles string
	// flags are those that were given for that, with a space before each. What environment and
	// profiles say, they say to it too.
	flags string
}

// Called is how starter was called.
func (c *Connection) Called() string { return cmp.Or(c.program, ProgramName) }

// Invocation leaves out secrets, which are not to be printed.
func (c *Connection) Invocation() Invocation {
	namespace := c.namespace
	if namespace == client.DefaultNamespace {
		namespace = ""
	}
	var text strings.Builder
	for _, flag := range []struct{ name, value string }{
		{"--address", c.address}, {"--namespace", namespace}, {"--profile", c.profile},
	} {
		if flag.value != "" {
			text.WriteString(" " + flag.name + " " + api.ShellWord(flag.value))
		}
	}
	r := Invocation{program: c.Called(), worker: c.workerProgram(), flags: text.String()}
	if c.configFile != "" {
		r.profiles = api.ShellWord(c.configFile)
	}
	r.flags += c.Stored()
	return r
}

// workerName is the worker program's own.
const workerName = "worker"

// workerProgram is how to call the worker: by the path beside starter's, where starter was called
// by one and it is there.
func (c *Connection) workerProgram() string {
	if !strings.ContainsRune(c.Called(), filepath.Separator) {
		return workerName
	}
	// Not Join, which takes away the ./ that keeps a name from being looked up on the PATH.
	beside := filepath.Dir(c.Called()) + string(filepath.Separator) + workerName
	if _, err := exec.LookPath(beside); err != nil {
		return workerName
	}
	return beside
}

// WorkerCommand is a command line that starts a worker for a lane, or for whatever runs wait for
// where lane is empty.
func (r Invocation) WorkerCommand(queue, lane string, more ...string) string {
	words := []string{cmp.Or(r.worker, workerName)}
	if r.profiles != "" {
		words = []string{configFileVariable + "=" + r.profiles, words[0]}
	}
	if lane != "" {
		words = append(words, "--lanes", LaneOf(LaneName(lane)))
	}
	if queue != "" && queue != api.DefaultTaskQueue {
		words = append(words, "--task-queue", api.ShellWord(queue))
	}
	return strings.Join(append(words, more...), " ") + r.flags
}

// Stored are the flags that say how payloads are stored, as far as they were given, with a space
// before each.
func (c *Connection) Stored() string {
	text := ""
	for _, argument := range c.Payloads.Arguments() {
		text += " " + api.ShellWord(argument)
	}
	return text
}

// Command is a command line of starter that can be pasted.
func (r Invocation) Command(name string, arguments ...string) string {
	words := []string{cmp.Or(r.program, ProgramName), name}
	for _, argument := range arguments {
		words = append(words, api.ShellWord(argument))
	}
	if r.profiles != "" {
		words = append(words, "--config-file", r.profiles)
	}
	return strings.Join(words, " ") + r.flags
}

// Showing is the command line that shows the run that another one goes on from; empty for none.
func (r Invocation) Showing(run *api.ContinuedRun) string {
	if run == nil {
		return ""
	}
	return r.Command("show", run.WorkflowID, "--run-id", run.RunID)
}

// HowToAnswer is the command line that answers a question, up to the answer itself.
func (r Invocation) HowToAnswer(q audit.RunQuestion) string {
	answer := " --value JSON"
	if wantsText(q.Schema) {
		answer = " --text TEXT"
	}
	return r.Command("answer", q.WorkflowID, q.ID) + answer
}

// HowToApprove is the command line that approves a call, when it has been looked at.
func (r Invocation) HowToApprove(a audit.RunApproval) string {
	command := r.Command("approve", a.WorkflowID, a.Call)
	if a.Limit != "" {
		command += " --grant " + a.Limit + "=AMOUNT"
	}
	return command
}
