//go:build unix

package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

func commandSpec(entry toolspecs.CommandEntry) *toolspecs.Spec {
	return &toolspecs.Spec{Name: "probe", Entry: toolspecs.Entry{Kind: entry}}
}

func shell(script string, more ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, more...)
}

// runCommand executes an entry and returns the text of its answer.
func runCommand(t *testing.T, entry toolspecs.CommandEntry, args string) (string, error) {
	t.Helper()
	answer, err := Executor{}.Execute(t.Context(), commandSpec(entry), json.RawMessage(args))
	return jsonvalue.Plain(answer.Output), err
}

// readPIDs returns the process ids in a file, one per line.
func readPIDs(path string) []int {
	data, _ := os.ReadFile(path)
	var pids []int
	for _, line := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(line)
		if err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone reports whether a process has ended, including an orphan that is not reaped.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// Absent optional elements are omitted.
func TestCommandArgv_PassesEachElementUnchanged(t *testing.T) {
	show := shell(`for a; do printf '[%s]' "$a"; done`)
	cases := []struct {
		name string
		argv []string
		args string
		want string
	}{
		{"a string as it is", []string{"{{args.a}}"}, `{"a":"x y"}`, "[x y]"},
		{"an option stays one element", []string{"--", "{{args.a}}"}, `{"a":"-rf / --x"}`,
			"[--][-rf / --x]"},
		{"shell characters mean nothing", []string{"{{args.a}}"}, `{"a":"$(id);` + "`id`" +
			`|&>\"'*"}`, "[$(id);`id`|&>\"'*]"},
		{"line ends stay", []string{"{{args.a}}"}, `{"a":"x\ny"}`, "[x\ny]"},
		{"an empty string is an element", []string{"{{args.a}}"}, `{"a":""}`, "[]"},
		{"an absent argument is left out", []string{"{{args.a}}", "b"}, `{}`, "[b]"},
		{"an absent argument within text", []string{"--a={{args.a}}"}, `{}`, "[--a=]"},
		{"values are JSON", []string{"{{args.n}}", "{{args.o}}", "{{args.l}}", "{{args.b}}",
			"{{args.z}}"},
			`{"n":9007199254740993,"o":{"k":"<"},"l":[1,"2"],"b":true,"z":null}`,
			`[9007199254740993][{"k":"<"}][[1,"2"]][true][null]`},
		{"several in one element", []string{"{{ args.a }}-{{args.b}}"},
			`{"a":"{{args.b}}","b":"1"}`, "[{{args.b}}-1]"},
		{"other braces are left alone", []string{"{{.Names}}", "{{args}}"}, `{}`,
			"[{{.Names}}][{{args}}]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := runCommand(t, toolspecs.CommandEntry{
				Argv: slices.Concat(show, c.argv)}, c.args)
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// The strings pass by argv and by standard input, and return.
func TestCommand_PassesNaughtyStringsUnchanged(t *testing.T) {
	for _, s := range cases.NaughtyStrings(t) {
		args, err := jsonvalue.Encode(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		got, err := runCommand(t, toolspecs.CommandEntry{Argv: []string{"printf", "%s", "{{args.text}}"}},
			string(args))
		if err != nil || got != s {
			t.Errorf("by argv: %q became %q, %v", s, got, err)
		}
		got, err = runCommand(t, toolspecs.CommandEntry{Argv: []string{"cat"}, Stdout: "json"},
			string(args))
		if err != nil || got != string(args) {
			t.Errorf("by standard input: %q became %q, %v", args, got, err)
		}
	}
}

// The cases are exit codes and outputs.
func TestCommandOutcomes_HaveTypeAndReason(t *testing.T) {
	const (
		notJSON   = "the program was to write one JSON value to standard output, but: "
		tooMuch   = " bytes to standard output or standard error and was ended; ask for less, or raise entry.max_output"
		noProgram = "the command has no program: the first element of entry.argv must name one, without a placeholder"
	)
	var lines strings.Builder
	for i := range 999 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	file := filepath.Join(t.TempDir(), "not-executable")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name    string
		entry   toolspecs.CommandEntry
		args    string
		want    string
		failure api.ErrorType
		message string
	}{
		{name: "text as it is", entry: toolspecs.CommandEntry{Argv: shell(`printf 'a\n'`)}, want: "a\n"},
		{name: "json", entry: toolspecs.CommandEntry{Argv: shell(`echo '{"n": 12345678901234567890}'`),
			Stdout: "json"}, want: `{"n":12345678901234567890}`},
		{name: "no json", entry: toolspecs.CommandEntry{Argv: shell(`echo hello`), Stdout: "json"},
			failure: api.ErrInvalidOutput, message: notJSON + `unexpected 'h' at byte 1; names and strings need double quotes; it wrote: hello`},
		{name: "two json values", entry: toolspecs.CommandEntry{Argv: shell(`echo 1 2`), Stdout: "json"},
			failure: api.ErrInvalidOutput,
			message: notJSON + "unexpected text after the JSON value, at byte 1; it wrote: 1 2"},
		{name: "nothing for json", entry: toolspecs.CommandEntry{Argv: shell(`:`), Stdout: "json"},
			failure: api.ErrInvalidOutput, message: notJSON + "the JSON value is missing"},
		{name: "no standard input", entry: toolspecs.CommandEntry{Argv: []string{"cat"}, Stdin: "none"},
			args: `{"a":1}`, want: ""},
		{name: "input not read", entry: toolspecs.CommandEntry{Argv: []string{"true"}}, args: `{"a":"` +
			strings.Repeat("x", 300_000) + `"}`, want: ""},
		{name: "exit code", entry: toolspecs.CommandEntry{Argv: shell(`echo no such thing >&2; exit 3`)},
			failure: api.ErrExecution, message: "the program ended with exit code 3: no such thing"},
		{name: "standard error that is no text",
			entry:   toolspecs.CommandEntry{Argv: shell(`printf 'a\377b' >&2; exit 3`)},
			failure: api.ErrExecution, message: "the program ended with exit code 3: a\uFFFDb"},
		{name: "the end of a long standard error",
			entry: toolspecs.CommandEntry{Argv: shell(
				`i=0; while [ $i -lt 999 ]; do echo line $i >&2; i=$((i+1)); done; exit 1`)},
			failure: api.ErrExecution, message: "the program ended with exit code 1: …" +
				lines.String()[lines.Len()-1-2<<10:lines.Len()-1]},
		{name: "allowed exit code", entry: toolspecs.CommandEntry{Argv: shell(`echo none; exit 1`),
			OKExitCodes: []int{0, 1}}, want: "none\n"},
		{name: "zero not allowed", entry: toolspecs.CommandEntry{Argv: []string{"true"},
			OKExitCodes: []int{7}}, failure: api.ErrExecution, message: "the program ended with exit code 0"},
		{name: "signal", entry: toolspecs.CommandEntry{Argv: shell(`kill -KILL $$`)},
			failure: api.ErrExecution, message: "the program was killed by signal: killed"},
		{name: "too much output", entry: toolspecs.CommandEntry{Argv: []string{"yes"}, MaxOutput: 1000},
			failure: api.ErrExecution, message: "the program wrote more than 1000" + tooMuch},
		{name: "too much error output", entry: toolspecs.CommandEntry{Argv: shell(`yes >&2`),
			MaxOutput: 1000}, failure: api.ErrExecution, message: "the program wrote more than 1000" + tooMuch},
		{name: "all of the output", entry: toolspecs.CommandEntry{Argv: shell(`printf 12345`),
			MaxOutput: 5}, want: "12345"},
		{name: "one byte more", entry: toolspecs.CommandEntry{Argv: shell(`printf 123456`), MaxOutput: 5},
			failure: api.ErrExecution, message: "the program wrote more than 5" + tooMuch},
		{name: "no program", entry: toolspecs.CommandEntry{}, failure: api.ErrExecutorNotFound,
			message: noProgram},
		{name: "a program by argument", entry: toolspecs.CommandEntry{Argv: []string{"{{args.a}}"}},
			args: `{"a":"ls"}`, failure: api.ErrExecutorNotFound, message: noProgram},
		{name: "unknown program", entry: toolspecs.CommandEntry{Argv: []string{"no-such-program-here"}},
			failure: api.ErrExecutorNotFound,
			message: `the program no-such-program-here is not on this worker; install it, or correct entry.argv or the worker's PATH (exec: "no-such-program-here": executable file not found in $PATH)`},
		{name: "not a program", entry: toolspecs.CommandEntry{Argv: []string{file}},
			failure: api.ErrExecutorNotFound, message: "the program " + file + " cannot be executed on this worker: exec: " + strconv.Quote(file) + ": permission denied"},
		{name: "no folder", entry: toolspecs.CommandEntry{Argv: []string{"true"}, Dir: "no/such/folder"},
			failure: api.ErrPreconditionFailed, message: "the program's working folder no/such/folder does not exist on this worker; create it or correct entry.dir"},
		{name: "NUL", entry: toolspecs.CommandEntry{Argv: []string{"echo", "x{{args.a}}"}},
			args: `{"a":"b\u0000c"}`, failure: api.ErrValidation, message: "the arguments cannot be passed to the program\n  $.a: the value contains a NUL character, which no program can take as an argument"},
		{name: "no JSON", entry: toolspecs.CommandEntry{Argv: []string{"true"}}, args: `{`,
			failure: api.ErrValidation, message: "the arguments are not JSON: the JSON value is incomplete"},
		{name: "no object", entry: toolspecs.CommandEntry{Argv: []string{"true"}}, args: `[]`,
			failure: api.ErrValidation, message: "the arguments are not a JSON object"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := runCommand(t, c.entry, c.args)
			if c.failure == "" && (err != nil || got != c.want) {
				t.Fatalf("got %q, %v; want %q", got, err, c.want)
			}
			if c.failure != "" && !failedWith(err, c.failure, c.message) {
				t.Fatalf("got %q, %v; want %s with %q", got, err, c.failure, c.message)
			}
		})
	}
}

// failedWith reports whether err is a permanent error of the type with the message.
func failedWith(err error, failure api.ErrorType, message string) bool {
	e := api.AsError(err)
	return e != nil && e.Type == failure && !e.Retryable &&
		e.Error() == string(failure)+": "+message
}

// The model reads the same error.
func TestCommandTransientExitCode_IsRetried(t *testing.T) {
	_, err := runCommand(t, toolspecs.CommandEntry{Argv: shell(`exit 75`), TransientExitCodes: []int{75}},
		"{}")
	if e := api.AsError(err); e == nil || !e.Retryable || e.Type != api.ErrExecution {
		t.Fatalf("got %#v; want a retryable execution_error", e)
	}
}

// An argument that is too long for any argv is a fault of the call.
func TestCommandArgumentTooLong_IsNotRetried(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the limit of one argument is Linux's")
	}
	_, err := runCommand(t, toolspecs.CommandEntry{Argv: []string{"true", "{{args.a}}"}}, `{"a":"`+
		strings.Repeat("x", 300_000)+`"}`)
	if e := api.AsError(err); e == nil || e.Retryable || e.Message != "the arguments are too long for the argv of a program; let it read them from standard input: fork/exec /usr/bin/true: argument list too long" {
		t.Fatalf("got %v", err)
	}
}

// The result has a note.
func TestCommandInvalidUTF8_IsRepaired(t *testing.T) {
	answer, err := Executor{}.Execute(t.Context(),
		commandSpec(toolspecs.CommandEntry{Argv: shell(`printf 'a\377b'`)}), nil)
	if err != nil || jsonvalue.Plain(answer.Output) != "a\uFFFDb" || len(answer.Notes) != 1 {
		t.Fatalf("got %s, %q, %v", answer.Output, answer.Notes, err)
	}
}

// The variables of the call are added.
func TestCommandEnvironment_ContainsOnlyAllowedVariables(t *testing.T) {
	t.Setenv("SECRET_OF_THE_WORKER", "hidden")
	t.Setenv("LISTED", "a=b")
	ctx := callcontext.With(t.Context(), api.CallContext{
		CallID: "3.1", Origin: api.Origin{Run: "first"}, RunID: "later", Attempt: 2,
		Key: "first/3.1", Lane: "printer", Fence: 7})
	entry := toolspecs.CommandEntry{Argv: []string{"env"}, Env: []string{"LISTED", "NOT_SET_ANYWHERE"}}
	answer, err := Executor{}.Execute(ctx, commandSpec(entry), json.RawMessage("{}"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(jsonvalue.Plain(answer.Output)), "\n")
	for _, want := range []string{"LISTED=a=b", "PATH=" + os.Getenv("PATH"),
		"SWITCHYARD_CALL_ID=3.1", "SWITCHYARD_RUN_ID=first",
		"SWITCHYARD_ATTEMPT=2", "SWITCHYARD_IDEMPOTENCY_KEY=first/3.1", "SWITCHYARD_LANE=printer",
		"SWITCHYARD_FENCE=7"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
	allowed := []string{"LISTED", "PATH", "HOME", "LANG", "TMPDIR"}
	for _, line := range got {
		name, _, _ := strings.Cut(line, "=")
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, "SWITCHYARD_") {
			t.Errorf("the program sees %s", line)
		}
	}
}

// A program with a slash is relative to the working folder.
func TestCommandWorkingFolder_IsRelativeToTheExecutors(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(base, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "sub", "where"), []byte("#!/bin/sh\npwd\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, entry, program, want string }{
		{base, "", "pwd", base},
		{base, "sub", "pwd", filepath.Join(base, "sub")},
		{base, "sub", "./where", filepath.Join(base, "sub")},
		{"/nowhere", filepath.Join(base, "sub"), "./where", filepath.Join(base, "sub")},
	} {
		answer, err := Executor{Dir: c.dir}.Execute(t.Context(),
			commandSpec(toolspecs.CommandEntry{Argv: []string{c.program}, Dir: c.entry}), nil)
		if got := strings.TrimSpace(jsonvalue.Plain(answer.Output)); err != nil || got != c.want {
			t.Errorf("%+v: got %q, %v", c, got, err)
		}
	}
}

func TestCommandCancelledBefore_RunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "ran")
	_, err := Executor{}.Execute(ctx, commandSpec(toolspecs.CommandEntry{Argv: []string{"touch", file}}),
		nil)
	if _, missing := os.Stat(file); !errors.Is(err, context.Canceled) || missing == nil {
		t.Fatalf("got %v, file: %v", err, missing)
	}
}
