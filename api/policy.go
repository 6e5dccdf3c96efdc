package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PolicyEffect is the effect of a rule that matches a call (requirement G1).
type PolicyEffect string

const (
	// PolicyDeny refuses the call with policy_violation.
	PolicyDeny PolicyEffect = "deny"
	// PolicyAsk requires a person's approval.
	PolicyAsk PolicyEffect = "ask"
	// PolicyWarn lets the call run, with the rule's message among the notes of its result.
	PolicyWarn PolicyEffect = "warn"
	// PolicyAllow lets a call run without the approval that its toolspec or another rule for all
	// runs asks for. It never overrides a denial.
	PolicyAllow PolicyEffect = "allow"
)

// PolicyRule is one rule that calls are checked against before they run.
type PolicyRule struct {
	// Name is unique among the rules of a call.
	Name string `json:"name"`
	// When is a CEL expression of type bool; docs/policy-language.md lists its variables.
	When string `json:"when"`
	// Unless is the exception: an expression as When. The rule does not match where it is true;
	// empty for none.
	Unless string `json:"unless,omitempty"`
	// Then is the effect if When is true and Unless is not.
	Then PolicyEffect `json:"then"`
	// Message is the reason given to the caller.
	Message string `json:"message"`
	// Tools are the tools whose calls the rule applies to; empty for all.
	Tools []string `json:"tools,omitempty"`
	// Agents are the agents whose calls the rule applies to; empty for the calls of all runs, plans
	// and direct calls included.
	Agents []string `json:"agents,omitempty"`
	// Approvers are who may decide about the calls that the rule asks for; empty for everyone but
	// their caller.
	Approvers []Approver `json:"approvers,omitempty"`
	// Clears are the labels that a run loses, or gets others for, when a person approves a call
	// that the rule asks about.
	Clears []Clearing `json:"clears,omitempty"`
	// Define are the lists and shared expressions that When and Unless use, in an order in which
	// each one uses only those before it.
	Define []PolicyDefinition `json:"define,omitempty"`
}

// PolicyDefinition is a list of values or an expression that rules use by its name.
type PolicyDefinition struct {
	Name string `json:"name"`
	// Values are the values of a list, texts or numbers; empty for an expression.
	Values     json.RawMessage `json:"values,omitempty"`
	Expression string          `json:"expression,omitempty"`
}

// UserRole is what a user of the gateway may do. gateway.yaml gives roles to identities.
type UserRole string

// The roles.
const (
	// RoleViewer sees runs, RoleOperator controls them, and RoleApprover decides about calls.
	RoleViewer   UserRole = "viewer"
	RoleOperator UserRole = "operator"
	RoleApprover UserRole = "approver"
)

// Approver selects who may decide about a call: identities that fit all of its fields.
type Approver struct {
	// Name is that of an identity.
	Name string   `json:"name,omitempty"`
	Role UserRole `json:"role,omitempty"`
	// Claims are claims of the identity: one of the values of each.
	Claims map[string][]string `json:"claims,omitempty"`
	// Auth is how the identity was authenticated; default any of oidc, jwt and api_key, which prove
	// who decides.
	Auth AuthMethod `json:"auth,omitempty"`
}

// Fault returns why no identity can fit the approver; empty if one can.
func (a Approver) Fault() string {
	known := []UserRole{"", RoleViewer, RoleOperator, RoleApprover}
	switch {
	case a.Name+string(a.Role)+string(a.Auth) == "" && len(a.Claims) == 0:
		return "an approver needs name, role, claims or auth"
	case !slices.Contains(known, a.Role):
		return fmt.Sprintf("the role of an approver is viewer, operator or approver, not %.40q",
			a.Role)
	case !a.Auth.known():
		return noAuthMethod
	case len(a.Name) > maxBy:
		return fmt.Sprintf("the name of an approver has at most %d bytes", maxBy)
	}
	return ""
}

// MaxApprovers bounds the approvers of one rule.
const MaxApprovers = 50

// fits reports whether the one who decides is such an approver.
func (a Approver) fits(d Decision) bool {
	accepted := d.Auth == AuthOIDC || d.Auth == AuthToken || d.Auth == AuthKey
	if a.Auth != "" {
		accepted = d.Auth == a.Auth
	}
	return accepted && (a.Name == "" || a.Name == d.By) &&
		(a.Role == "" || slices.Contains(d.Roles, a.Role)) && HasClaims(d.Claims, a.Claims)
}

// String describes the approver in a few words.
func (a Approver) String() string {
	var words []string
	if a.Name != "" {
		words = append(words, a.Name)
	}
	if a.Role != "" {
		words = append(words, "the role "+string(a.Role))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Claims)) {
		words = append(words, "the claim "+name+" "+strings.Join(a.Claims[name], " or "))
	}
	if a.Auth != "" {
		words = append(words, "authentication by "+string(a.Auth))
	}
	return strings.Join(words, " with ")
}

// ApproverRule says who may decide about a call by one rule: those that fit one of Any.
type ApproverRule struct {
	// Rule is the name of a policy; empty for the toolspec.
	Rule string     `json:"rule,omitempty"`
	Any  []Approver `json:"any"`
}

// String describes who may decide.
func (r ApproverRule) String() string {
	words := make([]string, len(r.Any))
	for i, a := range r.Any {
		words[i] = a.String()
	}
	return strings.Join(words, ", or ")
}

// HasClaims reports whether claims have one of the wanted values for each name. A claim is a value,
// or a list of values.
func HasClaims(claims map[string]any, wanted map[string][]string) bool {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		values := wanted[name]
		given, ok := claims[name].([]any)
		if !ok {
			given = []any{claims[name]}
		}
		if !slices.ContainsFunc(given, func(g any) bool {
			text := claimText(g)
			return text != "" && slices.Contains(values, text)
		}) {
			return false
		}
	}
	return true
}

// claimText returns a scalar claim as text; empty for others. Numbers are json.Number where the
// gateway reads them, and float64 in a history.
func claimText(claim any) string {
	switch claim := claim.(type) {
	case string:
		return claim
	case json.Number:
		return claim.String()
	case float64:
		return strconv.FormatFloat(claim, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(claim)
	}
	return ""
}

// PolicyAction is what a rule did to a call. It is recorded with the admission decision.
type PolicyAction struct {
	Rule    string       `json:"rule"`
	Effect  PolicyEffect `json:"effect"`
	Message string       `json:"message,omitempty"`
	// Failure is why the expression could not be evaluated; a rule that fails denies.
	Failure string `json:"failure,omitempty"`
	// AllowedBy is the rule that allowed the call without the approval that this one asks for.
	AllowedBy string `json:"allowed_by,omitempty"`
}

// PoliciesSaid returns the messages of the rules with some effects, one after the other; empty if
// there are none.
func PoliciesSaid(met []PolicyAction, effects ...PolicyEffect) string {
	var texts []string
	for _, p := range met {
		if !slices.Contains(effects, p.Effect) || p.AllowedBy != "" {
			continue
		}
		text := fmt.Sprintf("the policy %q %s: %s", p.Rule, cmp.Or(policySaying[p.Effect],
			string(p.Effect)), p.Message)
		if p.Failure != "" {
			text = fmt.Sprintf(
				"the policy %q denies this call because it cannot be evaluated: %s (its message: %s)",
				p.Rule, p.Failure, p.Message)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

var policySaying = map[PolicyEffect]string{PolicyDeny: "says", PolicyAsk: "asks for approval",
	PolicyWarn: "warns", PolicyAllow: "allows the call"}

// PastCalls counts the calls of a run by tool, for policies.
type PastCalls struct {
	Tool      string `json:"tool"`
	Completed int    `json:"completed,omitempty"`
	Failed    int    `json:"failed,omitempty"`
	Refused   int    `json:"refused,omitempty"`
	// Running counts calls that were admitted and have not ended.
	Running int `json:"running,omitempty"`
}

// RunFacts are the facts of a run that policies can use, besides those in AdmissionRequest.
type RunFacts struct {
	// Run is the id of the first execution of the run's chain.
	Run          string `json:"run_id,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Turn is the turn of an agent run.
	Turn int `json:"turn,omitempty"`
	// Labels are the labels the run has collected, sorted.
	Labels []string `json:"labels,omitempty"`
	// Calls are the run's calls by tool. Calls of sub-agents count for their own runs.
	Calls   []PastCalls `json:"calls,omitempty"`
	Usage   Usage       `json:"usage,omitzero"`
	Limits  Limits      `json:"limits,omitzero"`
	Started time.Time   `json:"started,omitzero"`
}

// Limits bound a run. Zero is the default where there is one, else no limit.
type Limits struct {
	// Turns bounds model steps; default 50.
	Turns int `json:"turns,omitempty"`
	// Calls bounds tool calls.
	Calls int `json:"calls,omitempty"`
	// Tokens bounds the model's input and output tokens together.
	Tokens int `json:"tokens,omitempty"`
	// Cost bounds the model's cost in US dollars, computed from Model.Price.
	Cost float64 `json:"cost,omitempty"`
	// WallTime bounds the duration of the run; running calls are cancelled when it expires.
	WallTime Duration `json:"wall_time,omitzero"`
	// Repeats bounds equal calls that fail in the same way while nothing changes: the model is
	// warned after that many, and the run ends after as many more. Default 5.
	Repeats int `json:"repeats,omitempty"`
	// OnReached is what happens at a limit; default wrap_up.
	OnReached LimitAction `json:"on_reached,omitempty"`
	// AskTimeout bounds the wait for a person's grant; default DefaultApprovalTimeout.
	AskTimeout Duration `json:"ask_timeout,omitzero"`
}

// DefaultTurns is the default limit of turns.
const DefaultTurns = 50

// LimitAction is what happens when a run reaches a limit.
type LimitAction string

const (
	// LimitWrapsUp, the default, makes one more model step, without tools, that answers with what
	// is known.
	LimitWrapsUp LimitAction = "wrap_up"
	// LimitStops ends the run immediately, without an answer.
	LimitStops LimitAction = "stop"
	// LimitAsks waits for a person to grant more, and wraps up if none is granted. It does not
	// apply to the limits repeats and conversation.
	LimitAsks LimitAction = "ask"
)

// LimitCall replaces the call id while a run waits for a grant.
const LimitCall = "limit"

// Grant is how much more of its limits a run may use. Zero leaves a limit unchanged.
type Grant struct {
	Turns    int      `json:"turns,omitempty"`
	Calls    int      `json:"calls,omitempty"`
	Tokens   int      `json:"tokens,omitempty"`
	Cost     float64  `json:"cost,omitempty"`
	WallTime Duration `json:"wall_time,omitzero"`
}

func (g *Grant) negative() bool {
	return g != nil && (g.Turns < 0 || g.Calls < 0 || g.Tokens < 0 || g.Cost < 0 || g.WallTime < 0)
}

// Of returns the grant for a limit by its name; zero for none, and for limits that cannot be
// granted.
func (g *Grant) Of(limit string) float64 {
	if g == nil {
		return 0
	}
	return map[string]float64{"turns": float64(g.Turns), "calls": float64(g.Calls),
		"tokens": float64(g.Tokens), "cost": g.Cost,
		"wall_time": float64(g.WallTime)}[limit]
}

// Extended returns the limits with a grant on top of what has been used, or of the limit if that is
// more. Unset limits stay unset. turns and took are what the run has used of turns and wall time.
func (l Limits) Extended(g Grant, u Usage, turns int, took time.Duration) Limits {
	l.Turns = extended(cmp.Or(l.Turns, DefaultTurns), turns, g.Turns)
	l.Calls = extended(l.Calls, u.Calls, g.Calls)
	l.Tokens = extended(l.Tokens, u.InputTokens+u.OutputTokens, g.Tokens)
	l.Cost = extended(l.Cost, u.Cost, g.Cost)
	l.WallTime = extended(l.WallTime, Duration(took), g.WallTime)
	return l
}

func extended[T int | float64 | Duration](limit, used, more T) T {
	if limit == 0 || more == 0 {
		return limit
	}
	return max(limit, used) + more
}

// LimitRequest asks for the question to a person about a run that has reached a limit.
type LimitRequest struct {
	Run    string `json:"run_id"`
	Agent  string `json:"agent"`
	Limit  string `json:"limit"`
	Limits Limits `json:"limits"`
	Usage  Usage  `json:"usage"`
	// Turns and Took are what the run has used of turns and wall time; Asked counts earlier
	// questions.
	Turns int      `json:"turns"`
	Took  Duration `json:"took"`
	Asked int      `json:"asked"`
}

// Need is the answer to the request.
func (r LimitRequest) Need() ApprovalNeed {
	l, u := r.Limits, r.Usage
	lines := []string{fmt.Sprintf("The agent %s has reached its limit of %s. May it use more?",
		r.Agent, r.Limit)}
	add := func(name string, limited bool, used, limit string) {
		if limited {
			lines = append(lines, fmt.Sprintf("%s: %s of %s", name, used, limit))
		}
	}
	add("turns", true, fmt.Sprint(r.Turns), fmt.Sprint(cmp.Or(l.Turns, DefaultTurns)))
	add("calls", l.Calls > 0, fmt.Sprint(u.Calls), fmt.Sprint(l.Calls))
	add("tokens", l.Tokens > 0, fmt.Sprint(u.InputTokens+u.OutputTokens), fmt.Sprint(l.Tokens))
	add("cost", l.Cost > 0, fmt.Sprintf("$%.4f", u.Cost), fmt.Sprintf("$%.4f", l.Cost))
	add("wall time", l.WallTime > 0, Duration(r.Took.Std().Round(time.Second)).String(),
		l.WallTime.String())
	text := strings.Join(lines, "\n")
	return ApprovalNeed{Reason: "the run has reached its limit of " + r.Limit, Limit: r.Limit,
		Text: text,
		Digest: ApprovalDigest("", r.Run, LimitCall, Tool{Name: r.Limit},
			[]byte(fmt.Sprint(r.Asked, " ", text)), nil),
		Within: cmp.Or(l.AskTimeout, DefaultApprovalTimeout)}
}
