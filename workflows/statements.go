package workflows

import (
	"slices"

	"github.com/switchyard/switchyard/api"
)

// Bounds of what people wrote to a run, as policies read it: how many texts, their bytes, and the
// bytes that continue-as-new and sub-agents take over.
const (
	maxStatements         = 200
	maxStatementBytes     = 256 << 10
	passedStatementsBytes = 64 << 10
)

// keepsContents reports whether a rule that the run is pinned to, or of its agents, reads what
// people wrote, or results of calls.
func (p *pipeline) keepsContents() bool {
	return api.KeepContents(p.policies) || api.KeepContents(p.pinned.Policies.Rules)
}

// listen notes the texts that the run starts with.
func (p *pipeline) listen(in *api.RunInput) {
	if in.Agent != nil {
		p.state(&api.Statement{Kind: api.SourceInstructions, Text: in.Agent.Instructions})
	}
	if in.Agent == nil && in.Parent == nil {
		return // nobody wrote anything but the calls
	}
	for _, s := range told(in) {
		p.state(s)
	}
	p.noStatements = !slices.ContainsFunc(p.statements, func(s *api.Statement) bool {
		return s.Kind == api.SourcePrompt
	})
}

// told returns what the run was told: by the execution before, or by the run above and the prompt.
// The run of a fork without a prompt of its own does not know that of its source.
func told(in *api.RunInput) []*api.Statement {
	if in.State != nil {
		return in.State.Statements
	}
	prompt := &api.Statement{Kind: api.SourcePrompt, Text: in.Prompt}
	if in.Parent != nil {
		prompt.Kind, prompt.Labels = api.SourceParent, in.Labels
	}
	if in.Fork != nil && in.Prompt == "" {
		return nil
	}
	return append(slices.Clip(in.Statements), prompt)
}

// state notes a text. Texts beyond the bounds are left out, so that rules do not find them.
func (p *pipeline) state(s *api.Statement) {
	size := len(s.Text)
	for _, known := range p.statements {
		size += len(known.Text)
	}
	if len(p.statements) < maxStatements && size <= maxStatementBytes {
		p.statements = append(p.statements, s)
	}
}

// passedStatements returns the texts of some kinds that sub-agents or the next execution take over,
// the first ones; nil if no rule reads them.
func (p *pipeline) passedStatements(kinds ...api.SourceKind) (passed []*api.Statement) {
	if !p.keepsContents() {
		return nil
	}
	size := 0
	for _, s := range p.statements {
		if !slices.Contains(kinds, s.Kind) {
			continue
		}
		if size += len(s.Text); size > passedStatementsBytes {
			break
		}
		passed = append(passed, s)
	}
	return passed
}
