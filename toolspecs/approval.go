package toolspecs

import (
	"cmp"
	"encoding/json"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs/templates"
)

// Which calls of a tool wait for approval, as Approval.When says.
const (
	ApprovalAlways = "always"
	approvalNever  = "never"
)

// Approval says which calls of a tool wait until a person has approved them. In YAML, always or never alone stands for when.
type Approval struct {
	// When is always (the default) or never.
	When string `json:"when" yaml:"when"`
	// Timeout is how long a decision may take; default 24h.
	Timeout switchyard.Duration `json:"timeout" yaml:"timeout" rule:"min=1s,max=8760h"`
	// OnTimeout is deny (the default) or escalate: what comes when nobody has decided.
	OnTimeout switchyard.ApprovalTimeout `json:"on_timeout" yaml:"on_timeout" rule:"enum=deny|escalate"`
	// Ask is the template of what people are shown; default the tool's description and all arguments.
	Ask string `json:"ask,omitempty" yaml:"ask"`
}

// withDefaults returns nil where no call waits.
func (a *Approval) withDefaults() *Approval {
	if a == nil || a.When == approvalNever {
		return nil
	}
	return &Approval{When: cmp.Or(a.When, ApprovalAlways), Timeout: cmp.Or(a.Timeout, switchyard.DefaultApprovalTimeout),
		OnTimeout: cmp.Or(a.OnTimeout, switchyard.ApprovalDenies), Ask: a.Ask}
}

// approval checks which calls wait for approval.
func (c *checker) approval(s Spec) {
	a := s.Approval
	if a == nil {
		return
	}
	c.add("$.approval", "remove it or write never; a tool that must not run unasked can be left out of the agent's tools",
		"this version does not hold calls for approval, so approval: %s would not be honoured", a.When)
	c.placeholders("$.approval.ask", a.Ask, s.argumentNames(), false)
}

// ApprovalText is what people are shown of a call with these validated arguments that waits for approval: the template filled;
// without one the tool's description and all arguments, one on a line. Values of sensitive parameters are redacted. What is
// longer than switchyard.MaxApprovalText is cut, and says so.
func (c *Compiled) ApprovalText(args json.RawMessage) string {
	values := c.shown(args)
	text := ""
	if a := c.Spec.Approval; a != nil && a.Ask != "" {
		text, _ = templates.Text(a.Ask, values) // its placeholders were checked
	}
	if text == "" {
		text = c.ask(values)
	}
	return cutText(text, switchyard.MaxApprovalText)
}
