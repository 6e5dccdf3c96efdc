package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// policyCalls is how many calls a turn has, policyRules how many rules check each, and
// policyEarlier how many calls of policyTools tools the run has made before.
const (
	policyCalls   = 10
	policyRules   = 100
	policyEarlier = 1000
	policyTools   = 10
)

// measurePolicies measures what rules add to the admission of a turn: the median of many admissions
// with rules, minus that of as many without. They alternate, so that other load affects both.
func measurePolicies(ctx context.Context, l *lab) (map[string]float64, error) {
	catalog, err := toolspecs.NewCatalog([]toolspecs.Spec{{Name: "send", Version: "1.0.0",
		Description: "Sends a text.", Effects: []string{"external_write"},
		Parameters: []toolspecs.Parameter{{Name: "to", Type: "string", Required: true},
			{Name: "size", Type: "integer", Required: true}},
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "payload"}}}})
	if err != nil {
		return nil, err
	}
	without, err := admission(l, catalog)
	if err != nil {
		return nil, err
	}
	set := policies.NewSet(rules()...)
	with, err := admission(l, catalog, set.Rules()...)
	if err != nil {
		return nil, err
	}
	tool, _ := catalog.Get("send")
	request := api.AdmissionRequest{Tools: []api.Tool{tool.Tool()}, Known: []string{"send"},
		Caller: api.Caller{Type: api.CallerAgent, ID: "bench"},
		Facts: api.RunFacts{Turn: 3, Labels: []string{"private"},
			Calls: []api.PastCalls{{Tool: "send", Completed: 3}}, Earlier: earlierCalls(),
			Statements: []*api.Statement{{Kind: api.SourcePrompt,
				Text: "Send the figures of last week to team@example.com."}}}}
	for i := range policyCalls {
		request.Calls = append(request.Calls, api.Call{ID: api.TurnCallID(3, i+1), Tool: "send",
			Arguments: fmt.Sprintf(`{"to":"team@example.com","size":%d}`, i)})
	}
	var plain, ruled []time.Duration
	for range 100 * l.pairs {
		for a, took := range map[*activities.Activities]*[]time.Duration{without: &plain,
			with: &ruled} {
			request.PinnedPolicies = api.PinnedPolicies{}
			if a == with {
				request.PinnedPolicies = set.PinnedPolicies()
			}
			one, err := timeAdmission(ctx, a, request)
			if err != nil {
				return nil, err
			}
			*took = append(*took, one)
		}
	}
	slices.Sort(plain)
	slices.Sort(ruled)
	return map[string]float64{
		"policy_ms": float64(
			(ruled[len(ruled)/2] - plain[len(plain)/2]).Microseconds()) / 1000}, nil
}

// timeAdmission returns how long an admission of a turn takes.
func timeAdmission(ctx context.Context, a *activities.Activities,
	request api.AdmissionRequest) (time.Duration, error) {
	began := time.Now()
	decisions, err := a.Admission.Admit(ctx, request)
	took := time.Since(began)
	if err == nil {
		err = checkAllowed(decisions)
	}
	return took, err
}

func admission(l *lab, catalog *toolspecs.Catalog, rules ...api.PolicyRule) (*activities.Activities,
	error) {
	set := policies.NewSet(rules...)
	return activities.New(activities.Config{Catalog: func() *toolspecs.Catalog {
		return catalog
	}, Client: l.client, Policies: func() *policies.Set { return set }})
}

// earlierCalls returns the earlier calls of the run, with arguments and results.
func earlierCalls() []*api.EarlierCall {
	calls := make([]*api.EarlierCall, policyEarlier)
	for i := range calls {
		calls[i] = &api.EarlierCall{ID: api.TurnCallID(1, i+1), Turn: 1, Status: api.CallCompleted,
			Tool:      fmt.Sprintf("tool-%d", i%policyTools),
			Arguments: fmt.Sprintf(`{"to":"member-%d@example.com","size":%d}`, i, i),
			Result:    json.RawMessage(fmt.Sprintf(`{"id":%d,"text":"sent to member %d"}`, i, i)),
			Labels:    []string{"private"}}
	}
	return calls
}

// rules returns rules of ten kinds, none of which matches.
func rules() []api.PolicyRule {
	var list []api.PolicyRule
	for i := range policyRules / 10 {
		for kind, when := range []string{
			fmt.Sprintf("'label-%d' in labels && 'external_write' in tool.effects", i),
			fmt.Sprintf("args.to.endsWith('@example-%d.com')", i),
			fmt.Sprintf("calls.send.made > %d", 100+i),
			fmt.Sprintf("has(args.size) && args.size > %d && budget.calls.left < 10", 1000+i),
			fmt.Sprintf("now < timestamp('20%02d-01-01T00:00:00Z')", i),
			fmt.Sprintf("calls.exists(c, c.tool == 'tool-%d' && c.args.to == args.to)", i),
			fmt.Sprintf("calls.filter(c, c.tool == 'tool-%d' && c.status == 'failed').size() > %d",
				i, i),
			fmt.Sprintf("!free_of(args.to, 'label-%d')", i),
			fmt.Sprintf("run.messages.exists(m, m.contains('word-%d'))", i),
			fmt.Sprintf("args.to in partners && args.size > %d", 100+i),
		} {
			list = append(list, api.PolicyRule{Name: fmt.Sprintf("rule-%d-%d", i, kind), When: when,
				Then: api.PolicyDeny, Message: "no", Define: []api.PolicyDefinition{{
					Name: "partners", Values: json.RawMessage(`["a@example.com","b@example.com"]`)}}})
		}
	}
	return list
}

// checkAllowed returns an error if a rule stopped a call, because the measurement is then
// incomplete.
func checkAllowed(decisions []api.AdmissionDecision) error {
	for _, v := range decisions {
		if v.Error != nil || len(decisions) != policyCalls {
			data, _ := json.Marshal(decisions)
			return fmt.Errorf("the calls were not admitted: %.500s", data)
		}
	}
	return nil
}
