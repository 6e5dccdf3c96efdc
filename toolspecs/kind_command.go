package toolspecs

import (
	"cmp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
)

// KindCommand is a program.
const KindCommand = "command"

// commandKind is the kind of tools that start a program for each call.
type commandKind struct{}

func (commandKind) setDefaults(s *Spec) {
	e := &s.Entry
	e.Stdin = cmp.Or(e.Stdin, stdinJSON)
	e.Stdout = cmp.Or(e.Stdout, stdoutText)
	e.MaxOutput = cmp.Or(e.MaxOutput, defaultMaxOutput)
	if len(e.OKExitCodes) == 0 {
		e.OKExitCodes = []int{0}
	}
}

func (commandKind) check(c *checker, s Spec) { commandChecker{c}.command(s) }

func (commandKind) dispatch(Entry) api.Dispatch { return api.DispatchLane }

type commandChecker struct{ *checker }

func (c commandChecker) command(s Spec) {
	e := s.Entry
	if len(e.Argv) == 0 {
		c.Add("$.entry.argv", "write argv: [program, argument, …]", "a command needs argv")
	}
	c.argv(s)
	c.env(e.Env)
	c.dir(e.Dir)
	c.exitCodes(e)
	if o := s.Output; o != nil && e.Stdout == stdoutText && o.Type != "" && o.Type != "string" &&
		s.Execution.OnInvalidOutput == onInvalidFail {
		c.Add("$.output.type", "write stdout: json in entry, if the program prints JSON",
			"the answer of a command with stdout: text is a string and does not fit the type %s",
			o.Type)
	}
}

func (c commandChecker) argv(s Spec) {
	declared := s.argumentNames()
	for i, element := range s.Entry.Argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.Add(path, "", "argv contains a NUL character or an empty program")
		}
		c.placeholders(path, element, declared, i == 0)
	}
	c.programs(s.Entry.Argv)
}

const maxExitCode = 255

func (c commandChecker) exitCodes(e Entry) {
	for i, code := range e.OKExitCodes {
		c.exitCode(jsonpath.Index("$.entry.ok_exit_codes", i), code)
	}
	for i, code := range e.TransientExitCodes {
		path := jsonpath.Index("$.entry.transient_exit_codes", i)
		c.exitCode(path, code)
		if slices.Contains(e.OKExitCodes, code) {
			c.Add(path, "keep it in one of the lists",
				"exit code %d counts as success and as transient failure", code)
		}
	}
}

func (c commandChecker) exitCode(path string, code int) {
	if code < 0 || code > maxExitCode {
		c.Add(path, "", "exit codes are 0 to %d, not %d", maxExitCode, code)
	}
}
