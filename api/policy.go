package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
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
	// ReadsContents says that the rule reads arguments or results of earlier calls, what people
	// wrote, or values of variables. Runs keep these only where a rule does.
	ReadsContents bool `json:"reads_contents,omitempty"`
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

// MaxApprovers bounds the approvers of one rule.
const MaxApprovers = 50

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

// PolicyAction is what a rule did to a call. It is recorded with the admission decision.
type PolicyAction struct {
	Rule    string       `json:"rule"`
	Effect  PolicyEffect `json:"effect"`
	Message string       `json:"message,omitempty"`
	// Failure is why the expression could not be evaluated; a rule that fails denies.
	Failure string `json:"failure,omitempty"`
	// AllowedBy is the rule that allowed the call without the approval that this one asks for.
	AllowedBy string `json:"allowed_by,omitempty"`
	// Saw are the answers that a rule about earlier calls got.
	Saw string `json:"saw,omitempty"`
}

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
	// Earlier are the run's earlier calls as far as they are kept, the oldest first, and Statements
	// the texts that it was given. They pass within one process, are never encoded, and are not
	// changed.
	Earlier    []*EarlierCall `json:"-"`
	Statements []*Statement   `json:"-"`
	// Values are the values of the run's variables.
	Values map[string]any `json:"-"`
	// NoStatements says that the run no longer knows what people wrote, because the rules at its
	// start did not read it.
	NoStatements bool `json:"-"`
}

// EarlierCall is an earlier call of a run, for policies. It is not changed once it is shared.
type EarlierCall struct {
	ID   string `json:"call_id"`
	Tool string `json:"tool"`
	// Arguments are the validated arguments of an admitted call, else those of the caller.
	Arguments string `json:"arguments,omitempty"`
	// Result is the output of a completed call, as far as it is kept. Text is the message of a
	// failed one, or an output that is cut.
	Result json.RawMessage `json:"result,omitempty"`
	Text   string          `json:"text,omitempty"`
	// Status is completed, failed, refused or running.
	Status CallStatus `json:"status"`
	Turn   int        `json:"turn,omitempty"`
	// Time is when the call was admitted, or refused.
	Time time.Time `json:"time,omitzero"`
	// Labels are those of the result, and RunLabels those of the run when the call was admitted.
	Labels    []string `json:"labels,omitempty"`
	RunLabels []string `json:"run_labels,omitempty"`
	// Place counts the calls that have ended, up to this one; zero while it runs. After is the
	// place of the last call that had ended when this one was admitted: its arguments can come from
	// the results up to there.
	Place int `json:"place,omitempty"`
	After int `json:"after,omitempty"`
	// Batch is the first call of the batch in which the call was executed; empty for none. The tool
	// saw the arguments of all of them.
	Batch string `json:"batch,omitempty"`
	// Unknown says that Arguments lacks those of the call: they are too long, or the run itself
	// made the call.
	Unknown bool `json:"unknown_arguments,omitempty"`
	// NotKept says that the run keeps no results, because the rules at its start did not read them.
	NotKept bool `json:"-"`
	// Derived is what a worker computed from the call.
	Derived atomic.Value `json:"-"`
}

// Size is the approximate size of arguments and result in bytes.
func (c *EarlierCall) Size() int { return len(c.Arguments) + len(c.Result) + len(c.Text) }

// SourceKind is where a value of an argument occurred before.
type SourceKind string

// The kinds of sources. People wrote the first three.
const (
	// SourcePrompt is the prompt of the run, or of the run at the top for a sub-agent.
	SourcePrompt SourceKind = "prompt"
	// SourceMessage is a message that was sent to the run.
	SourceMessage SourceKind = "message"
	// SourceInstructions are the instructions of the agent.
	SourceInstructions SourceKind = "instructions"
	// SourceVariable is a variable of the run.
	SourceVariable SourceKind = "variable"
	// SourceParent is the prompt of a sub-agent, which the model of the calling run wrote.
	SourceParent SourceKind = "parent"
	// SourceResult is the result of an earlier call of the run.
	SourceResult SourceKind = "result"
	// SourceNowhere means that the value did not occur before: the model composed it.
	SourceNowhere SourceKind = "nowhere"
)

// Statement is a text that a run was given, beside results. It is not changed once it is shared.
type Statement struct {
	Kind SourceKind `json:"kind"`
	Text string     `json:"text"`
	// Labels are those of the calling run, for SourceParent.
	Labels []string `json:"labels,omitempty"`
	// Derived is what a worker computed from the text.
	Derived atomic.Value `json:"-"`
}

// Match is how a value matches its source.
type Match string

const (
	// MatchExact is a match of the same characters.
	MatchExact Match = "exact"
	// MatchNormalised is a match after folding case, white space and Unicode forms, or of the same
	// number.
	MatchNormalised Match = "normalised"
)

// ValueSource is one place where a value occurred before. It never has the value.
type ValueSource struct {
	Kind SourceKind `json:"kind"`
	// Call and Tool are those of a result.
	Call string `json:"call_id,omitempty"`
	Tool string `json:"tool,omitempty"`
	// Name is the name of a variable.
	Name string `json:"name,omitempty"`
	// Labels are those of the result; of the run, for SourceNowhere.
	Labels []string `json:"labels,omitempty"`
	// Match is empty for SourceNowhere.
	Match Match `json:"match,omitempty"`
}

// String describes the source in a few words.
func (s ValueSource) String() string {
	words := []string{string(s.Kind)}
	for _, word := range []string{s.Call, s.Tool, s.Name} {
		if word != "" {
			words = append(words, word)
		}
	}
	text := strings.Join(words, " ")
	if len(s.Labels) > 0 {
		text += " [" + strings.Join(s.Labels, ", ") + "]"
	}
	if s.Match == MatchNormalised {
		text += " (normalised)"
	}
	return text
}

// ValueSources is where a value that a rule asked about occurred before.
type ValueSources struct {
	// Value is the value as the rule names it, such as args.to or args.to[1].
	Value string `json:"value"`
	// Short says that the value occurs in many texts by chance: from_people and free_of count its
	// sources only where a rule asks for short values.
	Short   bool          `json:"short,omitempty"`
	Sources []ValueSource `json:"sources"`
}
