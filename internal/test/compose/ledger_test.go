package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tools of the test are programs that write into a file outside of the containers: whether a
// call was executed twice is not up to the system under test.
const (
	ledgerTools = `name: charge
version: 1.0.0
description: Enters a number into the ledger and takes some seconds.
parameters:
  - {name: n, type: string, required: true}
  - {name: seconds, type: integer, default: 1}
output: {type: string}
entry: {type: command, argv: [/etc/switchyard/tools/enter, "{{args.n}}", "{{args.seconds}}"], stdin: none, stdout: text}
execution: {effect: once, timeout: 2m}
---
name: look
version: 1.0.0
description: The same, and may be executed again.
parameters: [{name: n, type: string, required: true}, {name: seconds, type: integer, default: 1}]
output: {type: string}
entry: {type: command, argv: [/etc/switchyard/tools/enter, "{{args.n}}", "{{args.seconds}}"], stdin: none, stdout: text}
execution: {effect: read, timeout: 2m}
`
	enterProgram = `#!/bin/sh
echo "$1 $(hostname)" >>/ledger/entries
sleep "$2"
echo "entered $1"
`
	// ledgerOverride gives workers the ledger. docs/deploying.md describes this file.
	ledgerOverride = `services:
  worker:
    volumes:
      - ./ledger:/ledger
`
	// agentFile is an agent for the worker that docker-compose.yml builds.
	agentFile = `name: cashier
instructions: You charge what is due.
model: {provider: scripted, script: cashier.script.yaml}
tools: [calculator, charge]
`
	agentScript = `steps:
  - calls:
      - {id: sum, tool: calculator, arguments: {expression: "2*(3+4)"}}
  - calls:
      - {id: paid, tool: charge, arguments: {n: agent}}
  - answer: It was ${sum.value}, and I ${paid}.
`
)

// ledger is the file that the tools write.
type ledger struct{ file string }

// newLedger puts tools that write a ledger into the copy, and the settings that mount both.
func newLedger(t *testing.T, s *stack) *ledger {
	t.Helper()
	s.write(t, "tools/ledger.yaml", ledgerTools, 0o644)
	s.write(t, "tools/enter", enterProgram, 0o755)
	s.write(t, "docker-compose.override.yml", ledgerOverride, 0o644)
	s.write(t, "ledger/entries", "", 0o666)
	s.settings["SWITCHYARD_TOOLS"] = "./tools"
	return &ledger{file: filepath.Join(s.dir, "ledger/entries")}
}

// entries returns the hosts that entered each number, one for each execution.
func (l *ledger) entries(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(l.file)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		n, host, _ := strings.Cut(strings.TrimSpace(line), " ")
		hosts[n] = append(hosts[n], host)
	}
	return hosts
}

// step is a call of a plan.
type step struct {
	id, tool, after string
	seconds         int
}

// writePlan writes a plan whose calls enter the name of the plan and their id into the ledger.
func (s *stack) writePlan(t *testing.T, name string, steps []step) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "name: %s\ncalls:\n", name)
	for _, c := range steps {
		fmt.Fprintf(&text, "  - {id: %s, tool: %s, arguments: {n: %s, seconds: %d}", c.id, c.tool,
			name+"/"+c.id, c.seconds)
		if c.after != "" {
			fmt.Fprintf(&text, ", depends_on: [%s]", c.after)
		}
		text.WriteString("}\n")
	}
	s.write(t, "plans/"+name+".yaml", text.String(), 0o644)
}

// chain returns calls of charge that follow each other.
func chain(length, seconds int) []step {
	var steps []step
	for i := range length {
		c := step{id: fmt.Sprintf("c%02d", i), tool: "charge", seconds: seconds}
		if i > 0 {
			c.after = steps[i-1].id
		}
		steps = append(steps, c)
	}
	return steps
}

// startChains starts plans of charges that follow each other and returns their ids.
func (s *stack) startChains(t *testing.T, name string, plans, length, seconds int) []string {
	t.Helper()
	var ids []string
	for i := range plans {
		id := fmt.Sprintf("%s%d", name, i)
		s.writePlan(t, id, chain(length, seconds))
		s.start(t, "plans/"+id+".yaml", id)
		ids = append(ids, id)
	}
	return ids
}

// checkChains waits until plans of startChains have ended and checks that all calls completed and
// that each was executed once.
func (s *stack) checkChains(t *testing.T, l *ledger, ids []string, length int) {
	t.Helper()
	s.awaitEnd(t, ids)
	entries := l.entries(t)
	for _, id := range ids {
		records := s.records(t, id)
		if len(records) != length {
			t.Errorf("run %s has %d records, want %d", id, len(records), length)
		}
		for call, r := range records {
			if executed := len(entries[id+"/"+call]); r.Status != "completed" || executed != 1 {
				t.Errorf("call %s of %s is %s (%v) and was executed %d times", call, id, r.Status, r.Error,
					executed)
			}
		}
	}
}

// awaitEnd waits until runs have ended as completed.
func (s *stack) awaitEnd(t *testing.T, ids []string) {
	t.Helper()
	var left []string
	await(t, fmt.Sprintf("the runs %s have ended", strings.Join(ids, ", ")), patience, func() bool {
		list := s.runs(t)
		left = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			return slices.Contains(list, id+" completed completed")
		})
		failed := slices.ContainsFunc(left, func(id string) bool {
			return !slices.Contains(list, id+" running")
		})
		if failed {
			for _, id := range left {
				t.Log(s.starter(t, "audit", id))
			}
			t.Fatalf("of the runs %q some ended otherwise: %q", left, list)
		}
		return len(left) == 0
	})
}
