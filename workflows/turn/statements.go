package turn

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

// Statements are the texts that a run was given, beside results, for policies. They are not
// changed, so that admission can read them while the run goes on.
type Statements struct {
	// Keep reports whether rules read them.
	Keep func() bool
	// Unknown is set if the run does not know what people wrote.
	Unknown bool
	list    []*api.Statement
	bytes   int
}

// NewStatements returns the texts that a run starts with. keep reports whether rules read them.
func NewStatements(in *api.RunInput, keep func() bool) (s Statements) {
	s.Keep = keep
	if in.Agent != nil {
		s.Add(api.SourceInstructions, in.Agent.Instructions)
	}
	if in.Agent == nil && in.Parent == nil {
		return s // nobody wrote anything but the calls
	}
	for _, told := range told(in) {
		s.add(told)
	}
	s.Unknown = !slices.ContainsFunc(s.list, func(s *api.Statement) bool {
		return s.Kind == api.SourcePrompt
	})
	return s
}

// told returns what the run was told: by the execution before, or by the run above and the prompt.
// A run that goes on from turns of another one does not know what people wrote to that.
func told(in *api.RunInput) []*api.Statement {
	if in.State != nil {
		return in.State.Statements
	}
	prompt := &api.Statement{Kind: api.SourcePrompt, Text: in.Prompt}
	if in.Parent != nil {
		prompt.Kind, prompt.Labels = api.SourceParent, in.Labels
	}
	if in.Beginning != nil && in.Prompt == "" {
		return nil
	}
	return append(slices.Clip(in.Statements), prompt)
}

// Add notes a text. Texts beyond the bounds are left out, so that rules do not find them.
func (s *Statements) Add(kind api.SourceKind, text string) {
	s.add(&api.Statement{Kind: kind, Text: text})
}

func (s *Statements) add(one *api.Statement) {
	if len(s.list) < maxStatements && s.bytes+len(one.Text) <= maxStatementBytes {
		s.list = append(s.list, one)
		s.bytes += len(one.Text)
	}
}

// All returns the texts.
func (s *Statements) All() []*api.Statement { return slices.Clip(s.list) }

// Select returns the texts of some kinds that sub-agents or the next execution take over, the first
// ones; nil if no rule reads them.
func (s *Statements) Select(kinds ...api.SourceKind) (passed []*api.Statement) {
	if !s.Keep() {
		return nil
	}
	size := 0
	for _, one := range s.list {
		if !slices.Contains(kinds, one.Kind) {
			continue
		}
		if size += len(one.Text); size > passedStatementsBytes {
			break
		}
		passed = append(passed, one)
	}
	return passed
}
