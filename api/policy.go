package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
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

// Clearing removes a label from a run, or replaces it.
type Clearing struct {
	Label string `json:"label" yaml:"label" rule:"required" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot be a label" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	// To is the label that the run gets instead; empty for none.
	To string `json:"to,omitempty" yaml:"to" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot be a label" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	// Rule is the policy rule whose approval clears the label; empty for a tool.
	Rule string `json:"rule,omitempty" yaml:"-"`
}

// String describes the clearing: untrusted, or secret to internal.
func (c Clearing) String() string {
	if c.To == "" {
		return c.Label
	}
	return c.Label + " to " + c.To
}

// PinnedPolicies are the rules for all runs that a run is pinned to; the zero value is none.
type PinnedPolicies struct {
	// Digest identifies the rules.
	Digest string       `json:"digest"`
	Rules  []PolicyRule `json:"rules"`
}
