package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// endurance enables the tests below, and endurancePatience bounds each.
const (
	endurance         = "SWITCHYARD_ENDURANCE"
	endurancePatience = 8 * time.Minute
)

// newEndurance starts a lab with an open gate for a test that takes minutes.
func newEndurance(t *testing.T) *lab {
	t.Helper()
	if os.Getenv(endurance) == "" {
		t.Skip(endurance + " is not set: this test takes minutes; make test/endurance runs it")
	}
	l := newLab(t)
	ctx, cancel := context.WithTimeout(context.Background(), endurancePatience)
	t.Cleanup(cancel)
	l.ctx = ctx
	l.openGate()
	return l
}

// The size of the run of TestEndurance_RunsLongAgentsToTheirEnd: turns with ten calls each.
const (
	longTurns    = 300
	callsOfATurn = 10
	// journalOfTurn is the number of journal lines of a turn without repeated calls; a payment adds
	// two.
	journalOfTurn = 12
)

// stampSpec is a program that must not run twice. If its worker is lost, paid checks the journal
// for its effect.
const stampSpec = `name: stamp_once
version: 1.0.0
description: Writes the call's key to the journal.
output: {type: string}
entry:
  type: command
  argv: [sh, -c, 'printf ''{"call":"%s","text":"pays %s"}\n'' "$SWITCHYARD_CALL_ID" "$SWITCHYARD_IDEMPOTENCY_KEY" >> "$E2E_JOURNAL"; echo receipt']
  stdin: none
  env: [E2E_JOURNAL]
execution: {effect: once, heartbeat: 1s}
verify:
  tool: paid
  arguments: {key: "{{call.key}}"}
  done: paid
  result: receipt
`

// longRun is an agent that adds up the numbers of its turns, each from the result of the turn
// before. Each turn also pays three times, stamps once, greets twice, and writes three lines.
func longRun() *api.Agent {
	var steps []api.ScriptStep
	for turn := 1; turn <= longTurns; turn++ {
		sum := fmt.Sprintf(`{"expression":"${s%d.value} + %d"}`, turn-1, turn)
		if turn == 1 {
			sum = `{"expression":"1"}`
		}
		pay, line, greet := call("pay", `{"at_once":true}`),
			call("append", fmt.Sprintf(`{"text":"turn %d"}`, turn)), call("greet", `{"lines":0}`)
		pay.Repeat, line.Repeat, greet.Repeat = 3, 3, 2
		steps = append(steps, step(named(fmt.Sprint("s", turn), call("calculator", sum)), pay,
			call("stamp_once", `{}`), greet, line))
	}
	return withTools(agent(append(steps, answer(fmt.Sprintf("${s%d.value}", longTurns)))...),
		"calculator pay stamp_once greet append")
}

// A run of 3,000 calls survives five killed workers and two deployments of a changed toolspec, and
// continues as new. Its answer is right, its events are numbered without gaps, every call has one
// record with the version at the start of the run, and by the tools' journal nothing with effect
// once happened twice.
func TestEndurance_RunsLongAgentsToTheirEnd(t *testing.T) {
	l := newEndurance(t)
	dir := l.toolsFolder()
	payments, err := os.ReadFile("testdata/tools/bookings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile("testdata/tools/tools.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l.writeFile(filepath.Join(dir, "payments.yaml"), string(payments))
	l.writeFile(filepath.Join(dir, "tools.yaml"), string(lines)+"---\n"+stampSpec)
	os.Remove(filepath.Join(dir, "hold.yaml"))

	w := l.workerIn(nil, "--tools", dir)
	began := time.Now()
	run := l.runAgent("long", longRun())
	first := run.GetRunID()
	deploy := func(version string) func() {
		return func() {
			w.Stop()
			l.writeFile(filepath.Join(dir, "greet.yaml"), greetSpec(version, "meet_two"))
		}
	}
	kill := func() { w.Kill() }
	for i, end := range []func(){kill, deploy("2.0.0"), kill, kill, deploy("3.0.0"), kill, kill} {
		l.awaitLines((i + 1) * longTurns * journalOfTurn / 8)
		end()
		w = l.workerIn(nil, "--tools", dir)
	}
	r := l.result(run)
	t.Logf("%d turns in %s", longTurns, time.Since(began).Round(time.Second))
	if want := fmt.Sprint(longTurns * (longTurns + 1) / 2); r.Outcome != api.OutcomeAnswered ||
		r.Answer != want {
		t.Errorf("result: %+v, want the answer %s", r, want)
	}
	parts := l.histories("long", first)
	if len(parts) < 2 {
		t.Errorf("the run has %d histories: it did not continue as new", len(parts))
	}
	verified := l.enduredRecords(run, r)
	l.enduredJournal(first)
	sequence := 0
	for e, err := range audit.Events(l.ctx, l.Client, "long", first) {
		if sequence++; err != nil || e.Sequence != sequence {
			t.Fatalf("event %d has the number %d, error %v", sequence, e.Sequence, err)
		}
	}
	t.Logf("%d histories, %d events, %d calls verified", len(parts), sequence, verified)
	l.result(l.runCall("after", "greet", `{"lines":0}`))
	l.pinned(l.Client.GetWorkflow(l.ctx, "after", ""), "3.0.0")
}

// awaitLines waits until the journal has n lines.
func (l *lab) awaitLines(n int) {
	l.t.Helper()
	l.await(fmt.Sprint("for ", n, " lines"), func() bool {
		journal, err := os.ReadFile(l.journal)
		return err == nil && bytes.Count(journal, []byte("\n")) >= n
	})
}

// enduredRecords fails the test unless every call of the run has one record with status completed.
// It returns the number of further calls, all of which verify one of them.
func (l *lab) enduredRecords(run client.WorkflowRun, r api.RunResult) (verified int) {
	l.t.Helper()
	records := map[string]int{}
	for _, record := range l.records(run) {
		if record.Status != api.CallCompleted {
			l.t.Errorf("call %s of %s is %s: %v", record.CallID, record.Tool, record.Status,
				record.Error)
		}
		if record.Purpose == api.PurposeVerify {
			verified++
			continue
		}
		records[record.CallID]++
	}
	for turn := range longTurns {
		for n := range callsOfATurn {
			if id := api.TurnCallID(turn+1, n+1); records[id] != 1 {
				l.t.Errorf("call %s has %d records", id, records[id])
			}
		}
	}
	if calls := longTurns * callsOfATurn; len(records) != calls || r.Usage.Calls != calls+
		verified || r.Usage.Failed != 0 {
		l.t.Errorf("%d calls have records, want %d; with %d that verify others the run counts %+v",
			len(records), calls, verified, r.Usage)
	}
	l.pinned(run, "1.0.0")
	return verified
}

// enduredJournal fails the test unless the journal has each payment and stamp once, and each line.
func (l *lab) enduredJournal(run string) {
	l.t.Helper()
	paid, written, greeted := map[string]int{}, map[string]int{}, 0
	for _, e := range l.entries() {
		key, pays := strings.CutPrefix(e.Text, "pays ")
		switch {
		case pays:
			paid[key]++
		case e.Tool == "append":
			written[e.Call]++
		case e.Tool == "greet" && e.Text == "one":
			greeted++
		case e.Tool == "greet":
			l.t.Errorf("call %s was of another version than the run began with", e.Call)
		}
	}
	for turn := 1; turn <= longTurns; turn++ {
		for n := 2; n <= 5; n++ {
			if key := api.IdempotencyKey(run, api.TurnCallID(turn, n)); paid[key] != 1 {
				l.t.Errorf("%s was paid %d times", key, paid[key])
			}
		}
	}
	if len(paid) != 4*longTurns || len(written) != 3*longTurns || greeted < 2*longTurns {
		l.t.Errorf("%d payments, %d lines, %d greetings; there are %d turns", len(paid),
			len(written), greeted, longTurns)
	}
}

// The server does not end a run whose model requests more in one turn than a history can contain,
// in calls or in bytes: the calls beyond are refused, and the model can repeat them in the next
// turn, in a new history.
func TestEndurance_OfATurn(t *testing.T) {
	for name, test := range map[string]struct {
		calls, bytes, least int
		refuses             bool
	}{
		"10,000 calls":              {10_000, 10, 10_001, false},
		"2,000 results of 30,000 B": {2_000, 30_000, 1_200, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newEndurance(t)
			l.worker()
			many := call("produce", fmt.Sprintf(`{"bytes":%d}`, test.bytes))
			many.Repeat = test.calls
			run := l.runAgent("run",
				withTools(agent(step(many), step(named("more", call("append", `{"text":"more"}`))),
					answer("${more.text}")), "produce append"))
			first := run.GetRunID()
			if r := l.result(run); r.Answer != "more" || r.Usage.Calls != test.calls+1 {
				t.Errorf("result: %+v", r)
			}
			fates := map[string]int{}
			for _, r := range l.records(run) {
				fate := string(r.Status)
				if r.Error != nil {
					fate += " " + string(r.Error.Type)
				}
				fates[fate]++
			}
			if done, refused := fates["completed"],
				fates["refused budget_exceeded"]; done < test.least ||
				refused > 0 != test.refuses || done+refused != test.calls+1 {
				t.Errorf("calls: %v", fates)
			}
			for i, h := range l.histories("run", first) {
				size := 0
				for _, e := range h.GetEvents() {
					size += proto.Size(e)
				}
				t.Logf("%v; part %d has %d events and %.1f MiB", fates, i+1, len(h.GetEvents()),
					float64(size)/(1<<20))
			}
		})
	}
}
