package toolspecs

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// Values of Approval.When besides an expression.
const (
	approvalAlways = "always"
	approvalNever  = "never"
)

// withDefaults returns nil if no call waits.
func (a *Approval) withDefaults() *Approval {
	if a == nil || a.When == approvalNever {
		return nil
	}
	return &Approval{When: cmp.Or(a.When, approvalAlways), Timeout: cmp.Or(a.Timeout,
		api.DefaultApprovalTimeout),
		Ask: a.Ask, ByCaller: a.ByCaller,
		Approvers: a.Approvers}
}

// approval checks the approval section of a spec.
func (c *checker) approval(s Spec) {
	a := s.Approval
	if a == nil {
		return
	}
	if a.When != approvalAlways {
		if _, err := policies.Compile(a.When); err != nil {
			message, hint := err.Error(),
				"write always, never, or an expression such as args.amount > 100"
			if f, ok := errors.AsType[*policies.Fault](err); ok && f.Hint != "" {
				message, hint = f.Where()+f.Message, f.Hint
			}
			c.Add("$.approval.when", hint, "%s", message)
		}
	}
	policies.CheckApprovers(&c.Findings, "$.approval.approvers", a.Approvers)
	c.placeholders("$.approval.ask", a.Ask, s.argumentNames(), false)
}

// NeedsApproval reports whether a call with these facts waits for approval, and why. A call waits
// if its condition cannot be evaluated.
func (c *Compiled) NeedsApproval(f *policies.Facts) (reason string, needs bool) {
	a := c.Spec.Approval
	if a == nil {
		return "", false
	}
	if c.approvalWhen == nil {
		return "every call of " + c.Spec.Name + " needs approval", true
	}
	holds, err := c.approvalWhen.Holds(f)
	switch {
	case err != nil && c.mask != nil:
		return "the approval condition cannot be evaluated", true // the error may quote arguments
	case err != nil:
		return fmt.Sprintf("the approval condition cannot be evaluated: %v", err), true
	}
	return "calls of " + c.Spec.Name + " need approval when " + a.When, holds
}

// PolicyTool returns what policy rules can use of the tool as it is pinned.
func (c *Compiled) PolicyTool(pinned api.Tool) policies.Tool {
	return policies.Tool{Name: pinned.Name, Version: pinned.Version, Category: c.Spec.Category,
		Tags: c.Spec.Tags, Lane: pinned.Lane,
		Effect: string(pinned.Effect), Effects: c.Spec.Effects,
		Emits: c.emissions.Labels()}
}

// PolicySubjects returns the tools of the catalog as warnings about rules see them.
func (c *Catalog) PolicySubjects() []policies.Subject {
	subjects := make([]policies.Subject, 0, len(c.tools))
	for _, t := range c.tools {
		s := policies.Subject{Tool: t.PolicyTool(t.Tool())}
		s.Writes, s.Reads = outside(t.Spec)
		if t.Spec.Undo != nil {
			s.Undo = t.Spec.Undo.Tool
		}
		subjects = append(subjects, s)
	}
	return subjects
}

// outside says why calls of the tool have effects outside, and why its results may have been
// written by others; empty if nothing shows that.
func outside(s Spec) (writes, reads string) {
	if k, ok := s.Entry.Kind.(outsideDescriber); ok {
		writes, reads = k.describeOutside(s)
	}
	if writes != "" || reads != "" {
		return writes, reads
	}
	return overHTTP(s.Category, s.Execution.Effect == api.EffectRead)
}

// overHTTP is outside for tools of the category http.
func overHTTP(category string, read bool) (writes, reads string) {
	switch {
	case category != "http":
		return "", ""
	case read:
		return "", "from the network"
	}
	return "a request to the network", ""
}

// Takes returns the arguments that the tool accepts, for policies.
func (c *Compiled) Takes() policies.Takes {
	return policies.Takes{Names: c.inputShape.PropertyNames(), Any: c.inputShape.TakesOthers(),
		Sensitive: c.sensitive, Facts: c.Spec.Facts()}
}

// Emissions returns the labels of the tool's results.
func (c *Compiled) Emissions() *policies.Emissions { return c.emissions }

// compileApproval compiles the condition under which calls wait; the spec has been checked before.
func (c *Compiled) compileApproval() error {
	a := c.Spec.Approval
	if a == nil || a.When == approvalAlways {
		return nil
	}
	var err error
	c.approvalWhen, err = policies.Compile(a.When)
	return err
}

// ApprovalText returns the text that people see of a call that waits for approval: the filled
// template, or by default the tool's description and all arguments, one per line. args are
// validated arguments. Values of sensitive parameters are redacted. Text over
// api.MaxApprovalText is cut and marked as cut. partial says that the text does not show every
// argument in full: it is cut, or the template leaves some out.
func (c *Compiled) ApprovalText(args json.RawMessage) (text string, partial bool) {
	values := c.shown(args)
	if a := c.Spec.Approval; a != nil && a.Ask != "" {
		text, _ = templates.Text(a.Ask, values) // its placeholders were checked
		shown := templates.Names(a.Ask)
		for name := range values {
			partial = partial || !slices.Contains(shown, name)
		}
	}
	if text == "" {
		text, partial = c.ask(values), false
	}
	return cutText(text, api.MaxApprovalText), partial || len(text) > api.MaxApprovalText
}

// checkPolicies checks the policy section of a spec. Whether the named rules exist is known only to
// the
// workers.
func (c *checker) checkPolicies(s Spec) {
	policies.CheckEmissions(&c.Findings, "$.emits", s.Emits)
	policies.CheckClearings(&c.Findings, "$.clears", s.Clears)
	for i, effect := range s.Effects {
		if slices.Contains([]string{"read", "idempotent", "once"}, strings.ToLower(effect)) {
			c.Add(jsonpath.Index("$.effects", i), "write execution: {effect: "+
				strings.ToLower(effect)+"}; effects are capabilities such as external_write",
				"%q is an effect of the execution, not a capability of the tool", effect)
		}
	}
}
