package interactions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

const (
	// endWithin is how long the runs of a scenario may take. It includes outages that other
	// scenarios cause.
	endWithin = 6 * time.Minute
	// decideEvery is the interval at which people look for approvals.
	decideEvery = 250 * time.Millisecond
	// askAgain is the pause before a request that got no answer is repeated.
	askAgain = 100 * time.Millisecond
)

// execution is a scenario that runs.
type execution struct {
	*scenario
	lab *lab
	ctx context.Context
	// began is when it began.
	began  time.Time
	client *switchyard.Client

	mu       sync.Mutex
	runs     []*ranRun
	evidence evidence
	// features are those that have occurred.
	features map[feature]bool
}

// evaluation is the outcome of a scenario.
type evaluation struct {
	seed     uint64
	faults   []string
	features map[feature]bool
	// outcomes counts the calls by how they ended, runs the runs by their status.
	outcomes, runs map[string]int
	took           time.Duration
}

// execute runs a scenario to its end and evaluates it.
func execute(l *lab, s *scenario) evaluation {
	ctx, cancel := context.WithTimeout(l.ctx, endWithin)
	defer cancel()
	x := &execution{scenario: s, lab: l, ctx: ctx, began: time.Now(),
		client: l.of(s.principal()), features: map[feature]bool{}}
	var all sync.WaitGroup
	for _, f := range s.faults {
		all.Go(func() {
			if x.pause(f.after) {
				l.ask(f)
			}
		})
	}
	for i := range s.actors {
		all.Go(func() { x.act(&s.actors[i]) })
	}
	all.Wait()
	x.adopt()
	x.readRecords()
	return x.evaluation()
}

// pause waits; it is false if the scenario has to end before.
func (x *execution) pause(length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.ctx.Done():
		return false
	}
}

// again makes a request until it is answered: outages last some seconds. It returns the error of
// the answer.
func (x *execution) again(request func(context.Context) error) error {
	for {
		err := request(x.ctx)
		if err == nil || answered(err) || !x.pause(askAgain) {
			return err
		}
	}
}

// answered reports whether an error is an answer.
func answered(err error) bool {
	if _, ended := errors.AsType[*switchyard.RunError](err); ended {
		return true
	}
	e, ok := errors.AsType[*switchyard.RequestError](err)
	return ok && !slices.Contains([]switchyard.RequestErrorType{switchyard.RunUnanswered,
		switchyard.ServerUnreachable}, e.Type)
}

func (x *execution) fault(format string, args ...any) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.evidence.fault(format, args...)
}

func (x *execution) occurred(f feature) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.features[f] = true
}

// act does what an actor does, and returns when its runs have ended.
func (x *execution) act(a *actor) {
	if a.kind == sessionActor {
		x.converse(a)
		return
	}
	first := &ranRun{id: a.name, actor: a}
	start := switchyard.Start{StartOptions: switchyard.StartOptions{ID: a.name,
		Variables: map[string]any{actorVariable: a.name}}}
	if a.kind == planActor {
		start.Plan = a.plan()
	} else {
		start.Agent, start.Prompt = a.agent(), "Go."
	}
	err := x.again(func(ctx context.Context) error {
		run, err := x.client.Start(ctx, start)
		if err == nil {
			first.runID = run.RunID()
		}
		return err
	})
	if err != nil {
		x.fault("%s does not start: %v", a.name, err)
		return
	}
	x.forks(a, x.follow(first))
}

// running is a run, and when it has ended.
type running struct {
	*ranRun
	ended chan struct{}
}

// follow follows a run to its end, decides about its calls and cancels it at its moment.
func (x *execution) follow(r *ranRun) *running {
	now := &running{ranRun: r, ended: make(chan struct{})}
	x.mu.Lock()
	x.runs = append(x.runs, r)
	x.mu.Unlock()
	run := x.client.OpenExecution(r.id, r.runID)
	go func() {
		defer close(now.ended)
		x.awaitEnd(run, r)
	}()
	if r.actor.asks() {
		go x.decide(run, now.ended)
	}
	if r.source == nil && r.actor.cancel != nil {
		go x.cancel(run, now)
	}
	return now
}

// awaitEnd waits for the end of a run. One that does not end is a fault; it is cancelled.
func (x *execution) awaitEnd(run *switchyard.Run, r *ranRun) {
	var result api.RunResult
	err := x.again(func(ctx context.Context) (err error) {
		result, err = run.Result(ctx)
		return err
	})
	r.result, r.status = result, history.RunCompleted
	if failed, ok := errors.AsType[*switchyard.RunError](err); ok {
		r.status, r.failure = failed.Status, failed.Message
	} else if err != nil {
		r.status = history.RunRunning
		x.fault("%s does not end: %v\n%s", r.id, err, x.waitsFor(r))
		ctx, cancel := context.WithTimeout(x.lab.ctx, 5*time.Second)
		defer cancel()
		_ = x.lab.client.CancelWorkflow(ctx, r.id, r.runID) // it is reported already
	}
}

// waitsFor describes what an open run waits for.
func (x *execution) waitsFor(r *ranRun) string {
	ctx, cancel := context.WithTimeout(x.lab.ctx, 5*time.Second)
	defer cancel()
	d, err := x.lab.client.DescribeWorkflowExecution(ctx, r.id, r.runID)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, a := range d.GetPendingActivities() {
		fmt.Fprintf(&b, "    %s of %s, %s, attempt %d\n", a.GetActivityId(),
			a.GetActivityType().GetName(), a.GetState(), a.GetAttempt())
	}
	for _, c := range d.GetPendingChildren() {
		fmt.Fprintf(&b, "    the run %s\n", c.GetWorkflowId())
	}
	fmt.Fprintf(&b, "    workflow task: %v", d.GetPendingWorkflowTask())
	return b.String()
}

// plan returns the plan of an actor.
func (a *actor) plan() *api.Plan {
	p := &api.Plan{Name: a.name}
	for i, o := range a.turns[0] {
		c := api.PlanCall{ID: planID(i), Tool: o.spec.name, Arguments: o.arguments()}
		if o.after > 0 {
			c.DependsOn = []string{planID(o.after - 1)}
		}
		p.Calls = append(p.Calls, c)
	}
	return p
}

// agent returns the agent of an actor.
func (a *actor) agent() *api.Agent {
	var script api.Script
	var names []string
	for _, turn := range a.turns {
		var step api.ScriptStep
		for _, o := range turn {
			step.Calls = append(step.Calls, api.ScriptCall{Tool: o.spec.name,
				Arguments: o.arguments()})
			names = append(names, o.spec.name)
		}
		script.Steps = append(script.Steps, step)
	}
	if !a.fails {
		script.Steps = append(script.Steps, api.ScriptStep{Answer: "done"})
	}
	slices.Sort(names)
	packed := api.Pack(script)
	return &api.Agent{Name: "tester", Tools: slices.Compact(names),
		Model: api.Model{Provider: api.ProviderScripted, Script: &packed}}
}

// asks reports whether calls of the actor wait for approval.
func (a *actor) asks() bool {
	asks := func(o order) bool {
		return o.spec.approval || o.spec.name == "cashier"
	}
	for _, turn := range a.turns {
		if slices.ContainsFunc(turn, asks) {
			return true
		}
	}
	return slices.ContainsFunc(a.blocks, func(b block) bool { return asks(b.order) })
}

// usesInstances reports whether calls of the actor use an instance.
func (a *actor) usesInstances() bool {
	return slices.ContainsFunc(a.turns, func(turn []order) bool {
		return slices.ContainsFunc(turn, func(o order) bool { return o.spec.instance })
	})
}

// decide decides about the calls of a run that wait for approval.
func (x *execution) decide(run *switchyard.Run, ended <-chan struct{}) {
	tick := time.NewTicker(decideEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-x.ctx.Done():
			return
		case <-tick.C:
		}
		open, err := run.Approvals(x.ctx)
		if err != nil {
			continue // the run has not started, or nobody answers
		}
		for _, a := range open {
			x.decideOne(a)
		}
	}
}

// decideOne decides about a call. A decision that comes too late is refused, which is no fault.
func (x *execution) decideOne(a switchyard.Approval) {
	kind := x.decision(a.WorkflowID, a.Call)
	d := switchyard.Decision{Call: a.Call, Digest: a.Digest, Kind: kind, By: "ada"}
	if kind == api.DecisionEdit {
		d.Arguments = json.RawMessage(`{"note":"edited"}`)
	}
	if x.client.Open(a.WorkflowID).Decide(x.ctx, d) != nil {
		return
	}
	x.occurred(map[api.DecisionKind]feature{api.DecisionApprove: featureApproval,
		api.DecisionEdit: featureEdit, api.DecisionDeny: featureDenial}[kind])
}

// await waits for a moment of a run; it is false if the run ends before.
func (x *execution) await(actor string, m moment, ended <-chan struct{}) bool {
	for m.started > 0 {
		started, changed := x.lab.ledger.started(actor, m.started)
		if started {
			break
		}
		select {
		case <-changed:
		case <-ended:
			return false
		case <-x.ctx.Done():
			return false
		}
	}
	timer := time.NewTimer(m.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
		return false
	case <-x.ctx.Done():
		return false
	}
}

// cancel cancels a run at its moment.
func (x *execution) cancel(run *switchyard.Run, now *running) {
	if !x.await(now.actor.name, *now.actor.cancel, now.ended) {
		return
	}
	now.cancelled = true
	err := x.again(func(ctx context.Context) error { return run.Cancel(ctx, "ada", "enough") })
	if err == nil {
		x.occurred(featureCancelRun)
	}
}

// forks makes the forks of an actor's run and returns when all have ended.
func (x *execution) forks(a *actor, first *running) {
	all := []*running{first}
	for i, f := range a.forks {
		source := all[min(f.of, len(all)-1)]
		if f.when != nil {
			x.await(a.name, *f.when, source.ended)
		} else {
			<-source.ended
		}
		if forked := x.fork(source, f.at, i); forked != nil {
			all = append(all, x.follow(forked))
		}
	}
	for _, r := range all {
		<-r.ended
	}
}

// fork forks a run; nil if that is not possible at the point, or nobody answered.
func (x *execution) fork(source *running, at string, i int) *ranRun {
	forked := &ranRun{actor: source.actor, source: source.ranRun, at: at, forked: time.Now()}
	args := []string{"fork", source.id, "--at", at, "--detach", "--output", "json", "--address",
		x.lab.server.Address, "--caller", x.principal()}
	if source.actor.usesInstances() {
		args = append(args, "--fresh-instances")
	}
	out, err := exec.CommandContext(x.ctx, testserver.Bin(x.lab.t, "starter"), args...).Output()
	var answer struct {
		WorkflowID string `json:"workflow_id"`
		RunID      string `json:"run_id"`
	}
	if err != nil || json.Unmarshal(out, &answer) != nil {
		return nil
	}
	forked.id, forked.runID = answer.WorkflowID, answer.RunID
	x.occurred(featureFork)
	return forked
}

// adopt follows forks that were started although starter got no answer. The ledger knows them.
func (x *execution) adopt() {
	known := map[string]*ranRun{}
	for _, r := range x.runs {
		known[r.id] = r
	}
	for _, e := range x.lab.ledger.of(x.actorNames()...).effects {
		id := root(e.Workflow)
		i := strings.LastIndex(id, "-fork-")
		if known[id] != nil || i < 0 || known[id[:i]] == nil {
			continue
		}
		source := known[id[:i]]
		r := &ranRun{id: id, actor: source.actor, source: source, at: "1", forked: x.began}
		known[id] = r
		<-x.follow(r).ended
	}
}

func (x *execution) actorNames() (names []string) {
	for _, a := range x.actors {
		names = append(names, a.name)
	}
	return names
}

// readRecords reads the records of all runs.
func (x *execution) readRecords() {
	for _, r := range x.runs {
		for {
			var records []api.Record
			var failure error
			for record, err := range audit.Tree(x.ctx, x.lab.client, r.id, r.runID) {
				if failure = err; err == nil {
					records = append(records, record)
				}
			}
			if r.records = records; failure == nil {
				break
			}
			if !x.pause(askAgain) {
				x.fault("the records of %s cannot be read: %v", r.id, failure)
				break
			}
		}
	}
}

// evaluation evaluates the scenario.
func (x *execution) evaluation() evaluation {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := &x.evidence
	v.runs, v.seen = x.runs, x.lab.ledger.of(x.actorNames()...)
	now := time.Now()
	out := evaluation{seed: x.seed, faults: v.evaluate(),
		outcomes: map[string]int{}, runs: map[string]int{}, took: now.Sub(x.began)}
	for _, name := range x.lab.during(x.began, now) {
		x.features[featureOf(name)] = true
	}
	for _, r := range x.runs {
		out.runs[string(r.status)]++
		for _, record := range r.records {
			out.outcomes[endOf(record)]++
		}
		r.note(x.features)
	}
	if x.poor {
		x.features[featureBudget] = true
	}
	out.features = maps.Clone(x.features) // a decision may still be under way
	return out
}

// endOf returns how a call ended.
func endOf(r api.Record) string {
	if r.Error != nil {
		return string(r.Error.Type)
	}
	return string(r.Status)
}
