package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/process"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// defaultMaxOutput is the default limit of a command's output, in bytes.
const defaultMaxOutput = 1 << 20

// outputHead is how much of a program's output an error quotes, in bytes.
const outputHead = 200

// Executor executes tools of the kind command: a program with arguments, never a shell.
//
// It looks the program up in the worker's PATH; a name with a slash is relative to the working
// folder. The program's environment is PATH, HOME, LANG, TMPDIR, the variables that entry.env
// lists, the secrets of entry.secrets under their names, and SWITCHYARD_CALL_ID, SWITCHYARD_RUN_ID
// (unchanged by continue-as-new), SWITCHYARD_ATTEMPT,
// SWITCHYARD_MAX_ATTEMPTS, SWITCHYARD_IDEMPOTENCY_KEY, SWITCHYARD_LANE
// and, on a lane with a limit, SWITCHYARD_FENCE. The program gets the arguments as JSON on standard
// input and inside its argv. An argument that begins with - is passed unchanged: write "--" before
// placeholders of a program that takes options.
//
// On Unix the program is the leader of a process group. At its timeout or cancellation the group
// gets SIGTERM and, half a second later, SIGKILL; processes of the group that outlive the program
// are killed. On other systems only the program itself is ended. entry.max_memory is enforced only
// on Linux, and shortly after the program's start: memory mapped before that is not refused.
//
// Standard output becomes the answer: with stdout text a JSON string of the whole output, with
// stdout json the value itself. Bytes that are not UTF-8 become U+FFFD, which a note reports.
type Executor struct {
	// Dir is the folder that entry.dir is relative to; default the worker's working folder.
	Dir string
}

// Execute implements executor.Executor. It fails with executor_not_found if the program is missing,
// validation_error if arguments cannot be passed on, precondition_failed if the working folder is
// missing, invalid_output if the declared JSON output is invalid, and execution_error with exit
// code and the end of standard error if the program fails. A program that was ended by a signal, or
// for its output, may have taken effect.
func (c Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	entry, _ := spec.Entry.Kind.(toolspecs.CommandEntry)
	p, err := c.program(ctx, &entry, args)
	if err != nil {
		return executor.Answer{}, executor.NotStarted(err)
	}
	result, err := p.run(ctx)
	if err != nil {
		return executor.Answer{}, err
	}
	if err := checkExit(&entry, result); err != nil {
		return executor.Answer{}, err
	}
	answer, err := commandAnswer(&entry, result.stdout)
	if err == nil && result.outputOpen {
		answer.Notes = append(answer.Notes,
			"the program left something running that kept its output open; it was not waited for")
	}
	return answer, err
}

func (c Executor) program(ctx context.Context, entry *toolspecs.CommandEntry,
	args json.RawMessage) (*program, error) {
	argv, err := expandArgv(entry.Argv, args)
	if err != nil {
		return nil, err
	}
	dir, err := process.Folder(c.Dir, entry.Dir)
	if err != nil {
		return nil, err
	}
	env, secrets, err := process.Environment(entry.Env, entry.SetEnv, entry.Secrets)
	if err != nil {
		return nil, err
	}
	executor.RedactorFromContext(ctx).Hide(secrets...)
	p := &program{argv: argv, dir: dir, env: append(env, callEnv(ctx)...),
		maxOutput: entry.MaxOutput, maxMemory: entry.MaxMemory}
	if p.maxOutput <= 0 {
		p.maxOutput = defaultMaxOutput
	}
	if entry.Stdin != "none" {
		p.stdin = args
	}
	return p, nil
}

func callEnv(ctx context.Context) []string {
	call, ok := callcontext.From(ctx)
	if !ok {
		return nil
	}
	env := []string{
		"SWITCHYARD_CALL_ID=" + call.CallID,
		"SWITCHYARD_RUN_ID=" + call.Run,
		"SWITCHYARD_ATTEMPT=" + strconv.Itoa(call.Attempt),
		"SWITCHYARD_MAX_ATTEMPTS=" + strconv.Itoa(call.MaxAttempts),
		"SWITCHYARD_IDEMPOTENCY_KEY=" + call.Key,
		"SWITCHYARD_LANE=" + call.Lane,
	}
	if call.Fence > 0 {
		env = append(env, "SWITCHYARD_FENCE="+strconv.FormatInt(call.Fence, 10))
	}
	return env
}

func checkExit(entry *toolspecs.CommandEntry, result programResult) error {
	ok := entry.OKExitCodes
	if len(ok) == 0 {
		ok = []int{0}
	}
	if slices.Contains(ok, result.exitCode) {
		return nil
	}
	err := fmt.Errorf("the program %s%s", result.ending, process.QuoteTail(": ", result.stderr))
	switch {
	case result.exitCode < 0:
		return executor.Unclear(err)
	case slices.Contains(entry.TransientExitCodes, result.exitCode):
		return api.Transient(err, 0)
	}
	return err
}

func commandAnswer(entry *toolspecs.CommandEntry, stdout []byte) (executor.Answer, error) {
	var answer executor.Answer
	if !utf8.Valid(stdout) {
		stdout = bytes.ToValidUTF8(stdout, []byte("\uFFFD"))
		answer.Notes = append(answer.Notes,
			"the output was not valid UTF-8; the wrong bytes were replaced by U+FFFD")
	}
	if entry.Stdout != "json" {
		output, err := jsonvalue.Encode(string(stdout))
		answer.Output = output
		return answer, err
	}
	if _, err := jsonvalue.Decode(stdout); err != nil {
		return executor.Answer{}, api.Errorf(api.ErrInvalidOutput,
			"the program was to write one JSON value to standard output, but: %v%s", err,
			process.QuoteTail("; it wrote: ", stdout[:min(len(stdout), outputHead)]))
	}
	answer.Output = bytes.TrimSpace(stdout)
	return answer, nil
}
