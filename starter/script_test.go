package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// TestMain lets the test binary act as the programs of scripts: starter, and an MCP server.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"starter": main,
		"mcp-server": func() { mcpserver.Run(os.Args[1], os.Args[2:]...) }})
}

// scriptPatience bounds the waits of a script.
const scriptPatience = 2 * time.Minute

// scriptCommands are additional commands of scripts.
var scriptCommands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	// exits CODE PROGRAM ARG… runs a program that has to end with the exit code.
	"exits": func(ts *testscript.TestScript, _ bool, args []string) {
		want, err := strconv.Atoi(args[0])
		ts.Check(err)
		code := 0
		if err := ts.Exec(args[1], args[2:]...); err != nil {
			exit, ok := errors.AsType[*exec.ExitError](err)
			if !ok {
				ts.Fatalf("%v", err)
			}
			code = exit.ExitCode()
		}
		if code != want {
			ts.Fatalf("exit code %d, want %d", code, want)
		}
	},
	// until PATTERN PROGRAM ARG… repeats a program until its standard output matches.
	"until": func(ts *testscript.TestScript, _ bool, args []string) {
		pattern := regexp.MustCompile("(?m)" + args[0])
		deadline, tick := time.After(scriptPatience), time.NewTicker(50*time.Millisecond)
		defer tick.Stop()
		for {
			err := ts.Exec(args[1], args[2:]...)
			if out := ts.ReadFile("stdout"); pattern.MatchString(out) {
				return
			}
			select {
			case <-deadline:
				ts.Fatalf("%q never matched; the last run ended with %v", args[0], err)
			case <-tick.C:
			}
		}
	},
}

// cleanEnvironment keeps the user's settings out of the scripts: testscript passes no variables,
// and this function hides the files.
func cleanEnvironment(env *testscript.Env) {
	env.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(env.WorkDir, "no-such-file.toml"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
	env.Setenv("USER", "tester")
	env.Setenv("OLDPATH", env.Getenv("PATH"))
	if starter, err := exec.LookPath("starter"); err == nil {
		env.Setenv("STARTER", starter)
	}
}

// TestScripts tests what needs no server: help, wrong usage, faults in files, toolspecs, and output
// without a server.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: scriptCommands,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			cleanEnvironment(env)
			return nil
		}})
}

// TestOnServer tests every command against a real server with a real worker.
func TestOnServer(t *testing.T) {
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: these tests run a server; make check does")
	}
	server := testserver.NewServer(t)
	tools, err := filepath.Abs("testdata/tools")
	if err != nil {
		t.Fatal(err)
	}
	var ready map[string]any
	testserver.Start(t, &ready, nil, testserver.Bin(t, "worker"), "--address", server.Address,
		"--tools", tools, "--lanes", "general,serial",
		"--parent-pid", strconv.Itoa(os.Getpid()))
	testscript.Run(t, testscript.Params{Dir: "testdata/e2e", Cmds: scriptCommands,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			cleanEnvironment(env)
			env.Setenv("TEMPORAL_ADDRESS", server.Address)
			env.Setenv("SWITCHYARD_UI", "http://ui.example")
			env.Setenv("DEVSERVER", testserver.Bin(t, "devserver"))
			env.Setenv("WORKER", testserver.Bin(t, "worker"))
			env.Setenv("TOOLS", tools)
			return nil
		}})
}
