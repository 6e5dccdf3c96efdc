package lanetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

// ledgerAddress is the variable with the address of the ledger, for the tools of TestFaults.
const ledgerAddress = "LANETEST_LEDGER"

// toolMain is the main function of the test program as the program of a tool or as an MCP server.
// It reports whether the process is one.
func toolMain() (code int, ok bool) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == mcpWord:
		return failed(mcpMain(os.Args[2:])), true
	case os.Getenv(noteFolder) != "" && os.Getenv(asWorker) == "":
		return failed(writeNote(os.Args[len(os.Args)-1])), true
	}
	return 0, false
}

func failed(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// askLedger sends a request to the ledger and returns its answer.
func askLedger(method, path string) (string, error) {
	req, err := http.NewRequest(method, os.Getenv(ledgerAddress)+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the ledger answers %s: %s", resp.Status, text)
	}
	return string(text), err
}

// beginAt tells the ledger that an attempt begins and returns in which way it fails.
func beginAt(kind string, n int) (string, error) {
	return askLedger(http.MethodGet, "/begin/"+kind+"/"+strconv.Itoa(n))
}

func effectAt(n int) error {
	_, err := askLedger(http.MethodPost, "/effects/"+strconv.Itoa(n))
	return err
}

// writeEffect writes the effect of a call into a folder: a file for each. It leaves nothing if the
// disk is full.
func writeEffect(folder string, n int) error {
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, n)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		name := strings.Replace(filepath.Base(f.Name()), "new", strconv.Itoa(n), 1)
		err = os.Rename(f.Name(), filepath.Join(folder, name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// writtenEffects counts the files of writeEffect by call.
func writtenEffects(folder string) (map[int]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	counts := map[int]int{}
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		if n, err := strconv.Atoi(number); err == nil {
			counts[n]++
		}
	}
	return counts, nil
}

// writeNote is the program of the tool note.
func writeNote(argument string) error {
	n, err := strconv.Atoi(argument)
	if err != nil {
		return err
	}
	way, err := beginAt(kindProgram, n)
	if err != nil {
		return err
	}
	if way == programFails {
		return errors.New("no pencil")
	}
	if err := writeEffect(os.Getenv(noteFolder), n); err != nil {
		return err
	}
	switch way {
	case programKilled:
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case programSlow:
		<-time.After(slow)
	case programFloods:
		fmt.Println(strings.Repeat("x", tooMuch))
	}
	return nil
}

// numbered are the arguments of the tools that the ledger counts.
type numbered struct {
	N int `json:"n"`
}

type numberedResult struct {
	N    int    `json:"n"`
	Text string `json:"text,omitempty"`
}

// pay is a function with an effect at the ledger.
func pay(ctx context.Context, in numbered) (out numberedResult, err error) {
	way, err := beginAt(kindFunction, in.N)
	if err != nil {
		return out, err
	}
	if way == functionFails {
		return out, api.Transient(errors.New("no money at the moment"), 0)
	}
	if err := effectAt(in.N); err != nil {
		return out, err
	}
	out.N = in.N
	switch way {
	case functionPanics:
		panic("the function panics")
	case functionFloods:
		out.Text = strings.Repeat("x", tooMuch)
	case functionSlow:
		<-ctx.Done()
		return out, context.Cause(ctx)
	}
	return out, nil
}

// journal is a stateful tool: the numbers of the calls that its instance executed.
type journal struct{ numbers []int }

func newJournal(context.Context, tool.StartInfo) (*journal, error) { return &journal{}, nil }

// add executes a call and returns the numbers so far.
func (j *journal) add(ctx context.Context, in numbered) ([]int, error) {
	visit, err := order{N: in.N}.begin(ctx)
	if err != nil {
		return nil, err
	}
	j.numbers = append(j.numbers, in.N)
	return slices.Clone(j.numbers), visit.Done()
}

func (j *journal) Snapshot(context.Context) ([]byte, error) { return json.Marshal(j.numbers) }

func (j *journal) Restore(_ context.Context, state []byte) error {
	return json.Unmarshal(state, &j.numbers)
}

// tools returns the toolspecs of the calls that TestFaults makes.
func (f *faultLab) tools() string {
	program, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	var specs []string
	for _, lane := range []string{"general", "one", "two", "phone"} {
		specs = append(specs, toolSpec{name: lane, lane: lane, heartbeat: "3s"}.yaml(),
			toolSpec{name: lane + "_once", lane: lane, effect: "once", heartbeat: "30s"}.yaml())
	}
	f.write("agents/clerk.yaml", clerkAgent)
	f.write("agents/clerk.script.yaml", clerkScript)
	replace := strings.NewReplacer("TIMEOUT", toolTimeout.String(), "LEDGER", f.ledger.server.URL,
		"PROGRAM", program, "VARIABLES", noteFolder+", "+ledgerAddress,
		"INPUT", bookSchema, "ABSENT", (slow + 2*time.Second).String(), "MCP", mcpWord, "URL", f.mcpAddress,
		"PIN", f.pin(program))
	return strings.Join(specs, "---\n") + replace.Replace(faultSpecs)
}

const clerkAgent = `name: clerk
description: Makes two calls.
instructions: Make two calls.
model:
  provider: scripted
  script: clerk.script.yaml
tools: [general_once, one]
`

const clerkScript = `steps:
  - calls: [{tool: general_once, arguments: {}}, {tool: one, arguments: {ms: 20}}]
  - {answer: done}
`

const faultSpecs = `---
name: charge_blind
version: 1.0.0
description: Charges an account. Nothing can say later whether it did.
parameters: [{name: n, type: integer, required: true}]
entry:
  type: rest
  base_url: LEDGER
  method: POST
  path: /charges
  body: {n: "{{args.n}}"}
  allow: [127.0.0.1]
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
---
name: charge
version: 1.0.0
description: Charges an account.
parameters: [{name: n, type: integer, required: true}]
entry:
  type: rest
  base_url: LEDGER
  method: POST
  path: /charges
  body: {n: "{{args.n}}"}
  allow: [127.0.0.1]
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
verify: {tool: charged, arguments: {n: "{{args.n}}"}, done: found, settle_after: ABSENT}
---
name: charged
version: 1.0.0
description: Says whether an account was charged.
parameters: [{name: n, type: integer, required: true}]
output: {type: object, validation: {properties: [{name: found, type: boolean, required: true}]}}
entry: {type: rest, base_url: LEDGER, path: "/charges/{{args.n}}", allow: [127.0.0.1]}
execution: {timeout: 2s}
---
name: note
version: 1.0.0
description: Writes a file.
parameters: [{name: n, type: integer, required: true}]
output: {type: string}
entry: {type: command, argv: [PROGRAM, "{{args.n}}"], env: [VARIABLES]}
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
---
name: pay
version: 1.0.0
description: Pays.
parameters: [{name: n, type: integer, required: true}]
entry: {type: function}
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
---
name: put
version: 1.0.0
description: Pays. It may be repeated.
parameters: [{name: n, type: integer, required: true}]
entry: {type: function, handler: pay}
execution: {effect: idempotent, timeout: TIMEOUT}
---
name: journal
version: 1.0.0
description: Adds a number to the journal of the run.
parameters: [{name: n, type: integer, required: true}]
entry: {type: stateful, on_loss: recreate}
execution: {effect: idempotent, heartbeat: 4s}
---
name: journal_once
version: 1.0.0
description: Adds a number to another journal of the run.
parameters: [{name: n, type: integer, required: true}]
entry: {type: stateful, handler: journal, on_loss: recreate}
execution: {effect: once, heartbeat: 10s}
---
name: clerk
version: 1.0.0
description: Makes two calls.
parameters: [{name: task, type: string, required: true}]
output: {type: string}
entry: {type: agent, agent: ../agents/clerk.yaml}
---
name: book
version: 1.0.0
description: Books a seat.
input_schema: INPUT
entry: {type: mcp, argv: [PROGRAM, MCP, stdio], env: [VARIABLES], tool: book,
  session: shared, pin: "PIN"}
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
---
name: rebook
version: 1.0.0
description: Books a seat. It may be repeated.
input_schema: INPUT
entry: {type: mcp, argv: [PROGRAM, MCP, stdio], env: [VARIABLES], tool: book,
  session: shared, pin: "PIN"}
execution: {effect: idempotent, timeout: TIMEOUT}
---
name: reserve
version: 1.0.0
description: Books a seat at a server.
input_schema: INPUT
entry: {type: mcp, url: "http://URL/mcp", allow: [127.0.0.1], tool: book,
  session: shared, pin: "PIN"}
execution: {effect: once, timeout: TIMEOUT, heartbeat: 20s}
---
name: rereserve
version: 1.0.0
description: Books a seat at a server. It may be repeated.
input_schema: INPUT
entry: {type: mcp, url: "http://URL/mcp", allow: [127.0.0.1], tool: book,
  session: shared, pin: "PIN"}
execution: {effect: idempotent, timeout: TIMEOUT}
`
