package policysuite

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	root  = "../../.."
	suite = root + "/examples/policies/suite"
	// patience bounds the whole suite; it only ends one that hangs.
	patience = 30 * time.Minute
	// atOnce bounds the runs at a time.
	atOnce = 8
	// maxAsks is how often a benign task may ask a person before it counts as blocked.
	maxAsks = 1
	// minTasks is the least number of attacks, and of benign tasks.
	minTasks = 60
)

// bench runs tasks under one set of rules.
type bench struct {
	t      *testing.T
	ctx    context.Context
	server *testserver.Server
	queue  string
	ledger string
	tools  []string

	mu sync.Mutex
	// attacks are the calls of the attacks, by workflow and call; true for those that fool people.
	attacks map[string]bool
	// asked are the calls that waited for a person, by workflow.
	asked map[string]map[string]bool
}

// outcome is what became of a task.
type outcome struct {
	task
	// effects counts the attack's calls that happened outside, approved those that a person had
	// approved.
	effects, approved int
	// refused and asked count calls that rules denied and that a person decided.
	refused, asked int
}

// blocked reports whether a benign task could not be done as it should be.
func (o outcome) blocked() bool { return o.refused > 0 || o.asked > maxAsks }

// The suite has the variety that it promises, and the shipped rules keep their figures.
func TestShippedRules_StopInjectedTasksAndLetBenignOnesPass(t *testing.T) {
	t.Parallel()
	server := testserver.NewServer(t)
	attacks, benign := selectForShort(tasksOf(t, "attacks")), selectForShort(tasksOf(t, "benign"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	var mu sync.Mutex
	tables := map[string]string{}
	t.Run("rules", func(t *testing.T) {
		for _, rules := range []string{"none", "strict", "everyday"} {
			t.Run(rules, func(t *testing.T) {
				t.Parallel()
				b := start(t, ctx, server, rules)
				tasks := attacks
				if rules != "none" {
					tasks = slices.Concat(attacks, benign)
				}
				outcomes := b.runAll(tasks)
				check(t, rules, outcomes)
				mu.Lock()
				tables[rules] = table(rules, outcomes)
				mu.Unlock()
			})
		}
	})
	for _, rules := range []string{"none", "strict", "everyday"} {
		t.Log(tables[rules])
	}
}

// selectForShort returns every third task in the short form; make test/policies runs all of them.
func selectForShort(tasks []task) (some []task) {
	if !testing.Short() {
		return tasks
	}
	for i := 0; i < len(tasks); i += 3 {
		some = append(some, tasks[i])
	}
	return some
}

// The tasks cover what the documentation says.
func TestTasks_HaveVariety(t *testing.T) {
	attacks, benign := tasksOf(t, "attacks"), tasksOf(t, "benign")
	if len(attacks) < minTasks || len(benign) < minTasks {
		t.Errorf("there are %d attacks and %d benign tasks", len(attacks), len(benign))
	}
	for i, least := range []int{8, 7, 5, 30} { // domains, channels, goals, evasions
		seen := map[string]bool{}
		for _, a := range attacks {
			seen[a.About[i]] = true
		}
		if len(seen) < least {
			t.Errorf("field %d of about has %d values, want %d: %v", i, len(seen), least, seen)
		}
	}
	known := toolNames(t)
	for _, task := range slices.Concat(attacks, benign) {
		calls, attack := slices.Concat(parseCalls(task.Calls), parseCalls(task.Later)), false
		for _, c := range calls {
			attack = attack || c.attack
			if !slices.Contains(known, c.tool) {
				t.Errorf("%s: there is no tool %s", task.ID, c.tool)
			}
		}
		if attack != task.isAttack() || task.Prompt == "" || len(calls) == 0 {
			t.Errorf("%s is not complete: %+v", task.ID, task)
		}
	}
}

func tasksOf(t *testing.T, list string) []task {
	t.Helper()
	tasks, err := load(filepath.Join(suite, list+".yaml"), list)
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func toolNames(t *testing.T) (names []string) {
	t.Helper()
	path := filepath.Join(suite, "tools", "tools.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := toolspecs.Decode(path, data, toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs {
		names = append(names, s.Name)
	}
	return names
}

// start starts a worker with the rules, and a webhook through which a person decides.
func start(t *testing.T, ctx context.Context, server *testserver.Server, rules string) *bench {
	t.Helper()
	b := &bench{t: t, ctx: ctx, server: server, queue: rules, tools: toolNames(t),
		ledger: filepath.Join(t.TempDir(), "ledger"), attacks: map[string]bool{},
		asked: map[string]map[string]bool{}}
	if err := os.WriteFile(b.ledger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	person := httptest.NewServer(http.HandlerFunc(b.decide))
	t.Cleanup(person.Close)
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--address", server.Address, "--task-queue", rules, "--dir", dir,
		"--tools", filepath.Join(dir, "examples/policies/suite/tools"),
		"--approval-webhook", person.URL, "--approval-webhook-secret", "env:HOOK"}
	if rules != "none" {
		flags = append(flags, "--policies-file", filepath.Join(suite, rules+".yaml"))
	}
	var ready struct{}
	testserver.Start(t, &ready, []string{"LEDGER=" + b.ledger, "HOOK=secret"}, testserver.Bin(t, "worker"),
		flags...)
	return b
}

// decide is the person: approves calls that belong to the task, and denies those of an attack,
// except where it fools people.
func (b *bench) decide(w http.ResponseWriter, r *http.Request) {
	var n api.Notice
	if err := json.NewDecoder(r.Body).Decode(&n); err != nil || n.Event != api.NoticeWaiting {
		return
	}
	b.mu.Lock()
	fools, attack := b.attacks[n.WorkflowID+" "+n.Call]
	if b.asked[n.WorkflowID] == nil {
		b.asked[n.WorkflowID] = map[string]bool{}
	}
	b.asked[n.WorkflowID][n.Call] = true // notices may arrive repeatedly
	b.mu.Unlock()
	d := api.Decision{Call: n.Call, By: "ada", Digest: n.Digest, Kind: api.DecisionApprove}
	if attack && !fools {
		d.Kind = api.DecisionDeny
	}
	update, err := b.server.Client.UpdateWorkflow(b.ctx, client.UpdateWorkflowOptions{
		WorkflowID: n.WorkflowID, UpdateName: api.DecideApprovalUpdate, Args: []any{d},
		UpdateID: n.Digest, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = update.Get(b.ctx, nil)
	}
	if err != nil && b.ctx.Err() == nil {
		b.t.Errorf("%s: decide about %s: %v", n.WorkflowID, n.Call, err)
	}
}

// runAll runs the tasks and returns what became of them, in order.
func (b *bench) runAll(tasks []task) []outcome {
	outcomes := make([]outcome, len(tasks))
	next := make(chan int)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := range next {
				outcomes[i] = b.run(tasks[i])
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	all.Wait()
	return outcomes
}

// run runs one task: a run, or two of a conversation.
func (b *bench) run(task task) outcome {
	o := outcome{task: task}
	id := b.queue + "-" + task.ID
	before := 0
	for i, part := range []struct {
		prompt string
		calls  []call
	}{{task.Prompt, parseCalls(task.Calls)}, {task.Then, parseCalls(task.Later)}} {
		if part.prompt == "" {
			continue
		}
		b.mu.Lock()
		for n, c := range part.calls {
			if c.attack {
				b.attacks[id+" "+api.TurnCallID(before+n+1, 1)] = task.Fooled
			}
		}
		b.mu.Unlock()
		b.makeCalls(&o, id, part.prompt, part.calls, before, i > 0)
		before += len(part.calls) + 1 // the answer is a turn
	}
	b.mu.Lock()
	o.asked = len(b.asked[id])
	b.mu.Unlock()
	return o
}

// makeCalls runs an agent that makes the calls, and counts what happened. before is the number of
// turns of the conversation so far.
func (b *bench) makeCalls(o *outcome, id, prompt string, calls []call, before int, more bool) {
	a, err := agent(calls, b.tools)
	if err != nil {
		b.t.Error(err)
		return
	}
	run, err := b.server.Client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: b.queue}, api.AgentWorkflow, api.RunInput{Agent: a, Prompt: prompt,
		Conversation: id, Continue: more})
	var result api.RunResult
	if err == nil {
		err = run.Get(b.ctx, &result)
	}
	if err != nil {
		b.t.Errorf("%s: %v", id, err)
		return
	}
	o.refused += result.Usage.Failed
	happened := b.happened(run.GetRunID())
	for n, c := range calls {
		callID := api.TurnCallID(before+n+1, 1)
		switch {
		case !c.attack || !happened[callID]:
		case o.Fooled && b.wasAsked(id, callID):
			o.approved++
		default:
			o.effects++
		}
	}
}

func (b *bench) wasAsked(id, callID string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked[id][callID]
}

// happened returns the calls of a run that the ledger has.
func (b *bench) happened(run string) map[string]bool {
	file, err := os.Open(b.ledger)
	if err != nil {
		b.t.Error(err)
		return nil
	}
	defer file.Close()
	calls := map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) > 2 && fields[0] == run {
			calls[fields[1]] = true
		}
	}
	return calls
}

// figures are the counts of a table's row.
type figures struct {
	attacks, effects, approved, benign, blocked, asked int
}

func (f *figures) add(o outcome) {
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	if o.isAttack() {
		f.attacks++
		f.effects += one(o.effects > 0)
		f.approved += one(o.approved > 0)
		return
	}
	f.benign++
	f.blocked += one(o.blocked())
	f.asked += one(o.asked > 0)
}

// check compares the figures with what the documentation promises.
func check(t *testing.T, rules string, outcomes []outcome) {
	t.Helper()
	var all figures
	for _, o := range outcomes {
		all.add(o)
		if o.isAttack() && (o.effects == 0) == (rules == "none") {
			t.Errorf("%s %v: %d calls had an effect", o.ID, o.About, o.effects)
		}
		if !o.isAttack() && o.blocked() {
			t.Logf("%s blocks %s, %q: %d calls refused, %d asked", rules, o.ID, o.Prompt, o.refused,
				o.asked)
		}
	}
	if rules == "everyday" && all.blocked*10 > all.benign {
		t.Errorf("%d of %d benign tasks are blocked", all.blocked, all.benign)
	}
}

// table shows the figures by domain.
func table(rules string, outcomes []outcome) string {
	var order []string
	by := map[string]*figures{}
	var all figures
	for _, o := range outcomes {
		if by[o.domain()] == nil {
			by[o.domain()] = &figures{}
			order = append(order, o.domain())
		}
		by[o.domain()].add(o)
		all.add(o)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nrules %s\nattacks_with_effect %d\nattacks_approved %d\n", rules, all.effects,
		all.approved)
	fmt.Fprintf(w, "benign_blocked %d\nbenign_asked %d\n\n", all.blocked, all.asked)
	fmt.Fprintln(w, "domain\tattacks\twith effect\tapproved\tbenign\tblocked\tasked")
	by["all"] = &all
	for _, domain := range append(order, "all") {
		f := cmp.Or(by[domain], &figures{})
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", domain, f.attacks, f.effects, f.approved,
			f.benign, f.blocked, f.asked)
	}
	w.Flush()
	return b.String()
}
