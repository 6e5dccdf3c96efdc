package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// bank is an external server with a ledger of charges and refunds by key.
type bank struct {
	*httptest.Server
	mu               sync.Mutex
	charged, refunds []string
	// pending are the charges in progress.
	pending sync.WaitGroup
}

// slowCharge is the duration of a slow charge, whether or not its client waits.
const slowCharge = 5 * time.Second

func newBank(t *testing.T) *bank {
	t.Helper()
	b := &bank{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges/{how}", b.charge)
	mux.HandleFunc("GET /charges/{key...}", func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		found := slices.Contains(b.charged, r.PathValue("key"))
		b.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"found": %t, "charge": "charged"}`, found)
	})
	mux.HandleFunc("DELETE /charges/{key...}", func(_ http.ResponseWriter, r *http.Request) {
		b.note(&b.refunds, r.PathValue("key"))
	})
	b.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		b.pending.Wait()
		b.Close()
	})
	return b
}

func (b *bank) note(ledger *[]string, key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*ledger = append(*ledger, key)
}

// charge makes a charge and answers as its path says.
func (b *bank) charge(w http.ResponseWriter, r *http.Request) {
	b.pending.Add(1)
	defer b.pending.Done()
	how := r.PathValue("how")
	if how == "slow" {
		<-time.After(slowCharge)
	}
	b.note(&b.charged, r.Header.Get("Idempotency-Key"))
	switch how {
	case "cut":
		panic(http.ErrAbortHandler)
	case "500", "502", "503", "504":
		status := 0
		_, _ = fmt.Sscan(how, &status)
		w.WriteHeader(status)
	}
}

// sorted returns the ledger's charges and refunds.
func (b *bank) sorted() (charged, refunds []string) {
	b.pending.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.charged)), slices.Sorted(slices.Values(b.refunds))
}

// bankTools writes the tools of the bank into a folder. charge has further fields of its toolspec.
func bankTools(t *testing.T, b *bank, charge string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"charge": `
parameters: [{name: how, type: string, required: true}]
entry: {type: rest, base_url: BASE, allow: [127.0.0.1], method: POST, path: "/charges/{{args.how}}"}
` + charge,
		"find_charge": `
parameters: [{name: key, type: string, required: true}]
entry: {type: rest, base_url: BASE, allow: [127.0.0.1], path: "/charges/{{args.key}}"}
`,
		"refund": `
parameters: [{name: key, type: string, required: true}]
entry:
  {type: rest, base_url: BASE, allow: [127.0.0.1], method: DELETE, path: "/charges/{{args.key}}"}
execution: {effect: idempotent}
`,
	} {
		text = "name: " + name + "\nversion: 1.0.0\ndescription: A tool of the bank." +
			strings.ReplaceAll(text, "BASE", strconv.Quote(b.URL))
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const (
	verifiedCharge = `
execution: {timeout: 3s}
verify: {tool: find_charge, arguments: {key: "{{call.key}}"}, done: found, result: charge%s}
`
	refundedCharge = `
undo: {tool: refund, arguments: {key: "{{call.key}}"}}
`
)

// keysOf returns the idempotency keys of a run's calls.
func keysOf(runID string, callIDs ...string) (keys []string) {
	for _, id := range callIDs {
		keys = append(keys, api.IdempotencyKey(runID, id))
	}
	return keys
}

// A call that times out while the server still works has its effect once: verify waits until the
// attempt can no longer be running before it accepts the answer "absent", also if a repetition is
// allowed.
func TestOnce_ChargesOnceIfTheAnswerIsLate(t *testing.T) {
	for _, absent := range []string{"", ", on_absent: repeat"} {
		t.Run(absent, func(t *testing.T) {
			l, b := newLab(t), newBank(t)
			l.workerIn(nil, "--tools", bankTools(t, b, fmt.Sprintf(verifiedCharge, absent)))
			run := l.runCall("charge", "charge", `{"how":"slow"}`)
			if r := l.result(run); string(r.Output) != `"charged"` {
				t.Errorf("result %s", r.Output)
			}
			charged, _ := b.sorted()
			expect(t, "charged", charged, keysOf(run.GetRunID(), "1.1"))
		})
	}
}

// A call whose answer is lost after the request was sent has an unknown outcome, which verify
// resolves.
func TestOnce_FindsOutAboutLostAnswers(t *testing.T) {
	l, b := newLab(t), newBank(t)
	l.workerIn(nil, "--tools", bankTools(t, b, fmt.Sprintf(verifiedCharge, "")))
	run := l.runAgent("charges", withTools(agent(lostCharges(), answer("done")), "charge"))
	l.result(run)
	charged, _ := b.sorted()
	expect(t, "charged", charged, keysOf(run.GetRunID(), "1.1", "1.2", "1.3", "1.4", "1.5"))
	for _, r := range l.records(run) {
		if r.Status != api.CallCompleted {
			t.Errorf("%s of %s: %s, %v", r.CallID, r.Tool, r.Status, r.Error)
		}
	}
}

// lostCharges returns a step with charges whose answers are lost.
func lostCharges() api.ScriptStep {
	var calls []api.ScriptCall
	for _, how := range []string{"cut", "500", "502", "503", "504"} {
		calls = append(calls, call("charge", `{"how":"`+how+`"}`))
	}
	return step(calls...)
}

// A failing run undoes the calls whose answers were lost.
func TestOnce_CompensatesLostAnswers(t *testing.T) {
	l, b := newLab(t), newBank(t)
	l.workerIn(nil, "--tools", bankTools(t, b, refundedCharge))
	run := l.runAgent("charges", withTools(agent(lostCharges()), "charge"))
	l.failure(run, api.RunModelFailed)
	charged, refunds := b.sorted()
	expect(t, "charged", charged, keysOf(run.GetRunID(), "1.1", "1.2", "1.3", "1.4", "1.5"))
	expect(t, "refunded", refunds, charged)
	unknown := 0
	for _, r := range l.records(run) {
		if r.Tool == "charge" && r.Error != nil && r.Error.Type == api.ErrOutcomeUnknown {
			unknown++
		}
	}
	if unknown != len(charged) {
		t.Errorf("%d of %d charges are outcome_unknown", unknown, len(charged))
	}
}

// A program that is killed because of its output after its effect is outcome_unknown, is undone,
// and is not started again. The test reads its files.
func TestOnce_CompensatesKilledPrograms(t *testing.T) {
	l, dir, tools := newLab(t), t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"charge.sh": "#!/bin/sh\necho \"$SWITCHYARD_IDEMPOTENCY_KEY\" >> charges\nyes\n",
		"refund.sh": "#!/bin/sh\necho \"$1\" >> refunds\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf(`
name: charge
version: 1.0.0
description: Charges, and writes without end.
entry: {type: command, argv: [./charge.sh], dir: %[1]q, max_output: 1000}
undo: {tool: refund, arguments: {key: "{{call.key}}"}}
---
name: refund
version: 1.0.0
description: Refunds.
parameters: [{name: key, type: string, required: true}]
entry: {type: command, argv: [./refund.sh, "{{args.key}}"], dir: %[1]q}
execution: {effect: idempotent}
`, dir)
	if err := os.WriteFile(filepath.Join(tools, "bank.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.workerIn(nil, "--tools", tools)
	run := l.runAgent("charges", withTools(agent(step(call("charge", `{}`))), "charge"))
	l.failure(run, api.RunModelFailed)
	for _, ledger := range []string{"charges", "refunds"} {
		lines, err := os.ReadFile(filepath.Join(dir, ledger))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, ledger, strings.Fields(string(lines)), keysOf(run.GetRunID(), "1.1"))
	}
	if r := l.records(run)[0]; r.Error == nil || r.Error.Type != api.ErrOutcomeUnknown {
		t.Errorf("the charge ended with %v", r.Error)
	}
}
