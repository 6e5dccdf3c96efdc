package callview

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// HideError returns an error with the values replaced in all its texts; nil for nil.
func HideError(h *redaction.Hider, e *api.Error) *api.Error {
	if h == nil || e == nil {
		return e
	}
	hidden := *e
	hidden.Message = h.Text(e.Message)
	hidden.Problems = HideProblems(h, e.Problems)
	hidden.Near, hidden.Details = h.Texts(e.Near), h.Texts(e.Details)
	hidden.Notes = h.Texts(e.Notes)
	return &hidden
}

// HideProblems returns problems with the values replaced.
func HideProblems(h *redaction.Hider, problems []api.Problem) []api.Problem {
	if h == nil {
		return problems
	}
	hidden := slices.Clone(problems)
	for i, p := range hidden {
		hidden[i].Path, hidden[i].Message = h.Text(p.Path), h.Text(p.Message)
	}
	return hidden
}
