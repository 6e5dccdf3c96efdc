package models

import (
	"github.com/switchyard/switchyard/api"
)

// Fidelity is the form in which a message goes back to a model.
type Fidelity int

const (
	// Projected: in words that any model reads.
	Projected Fidelity = iota
	// Thoughtless: as its provider sent it, without the reasoning, which is void.
	Thoughtless
	// Verbatim: as its provider sent it.
	Verbatim
)

// Fidelities returns the form in which each message of a conversation goes to the model of origin,
// and the digest of the whole prompt, which the answer keeps as Native.Prefix. A provider binds the
// reasoning of a message to all that was before it, tools included. Messages are the prompt's, as
// PairResults returns them.
func (p Prompt) Fidelities(messages []api.Message, origin api.Native) (forms []Fidelity,
	prefix string) {
	for _, t := range p.Declared() {
		for _, text := range []string{t.Name, t.Description, string(t.Schema)} {
			prefix = api.NextChain(prefix, text)
		}
	}
	forms = make([]Fidelity, len(messages))
	for i, m := range messages {
		forms[i] = p.fidelity(m.Native, origin, prefix)
		if forms[i] != Projected && m.Native.Alone {
			stripThoughts(forms[:i])
		}
		prefix = api.NextChain(prefix, m.Digest())
		for _, image := range p.Images[m.CallID] {
			prefix = api.NextChain(prefix, api.Digest(image.Data))
		}
	}
	if p.Limit != "" {
		prefix = api.NextChain(prefix, p.Limit)
	}
	return forms, prefix
}

// fidelity returns the form of one message, before which the prompt has the digest prefix.
func (p Prompt) fidelity(n *api.Native, origin api.Native, prefix string) Fidelity {
	switch {
	case n == nil, n.Dialect != origin.Dialect, n.Endpoint != origin.Endpoint,
		n.Model != origin.Model:
		return Projected
	case p.Thoughtless, n.Prefix != "" && n.Prefix != prefix:
		return Thoughtless
	}
	return Verbatim
}

func stripThoughts(forms []Fidelity) {
	for i := range forms {
		forms[i] = min(forms[i], Thoughtless)
	}
}
