package executor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// secret resolves a secret that the tool spec names, and hides it from then on.
func (h *Redactor) secret(name string) (string, error) {
	reference, ok := h.References[name]
	if !ok {
		return "", api.Errorf(api.ErrPreconditionFailed,
			"secret %q is not named by the toolspec; add entry.secrets: {%s: env:NAME} or file:/path",
			name, name)
	}
	value, err := outbound.SecretText(reference)
	if err != nil {
		return "", err
	}
	h.Hide(value)
	return value, nil
}

type hidingKey struct{}

// Redactor hides what one call or one instance must not reveal: secrets it used, from all output,
// and its sensitive arguments, from texts for people. A nil Redactor hides nothing.
type Redactor struct {
	// References are the secrets that the tool may read, by name.
	References map[string]string
	// named means that the spec names secrets, whoever resolves them.
	named bool

	mu sync.Mutex
	// values are the secrets that were used.
	values       []string
	secrets, all *redaction.Hider
}

func NewRedactor(compiled *toolspecs.Compiled, args json.RawMessage) *Redactor {
	var none *redaction.Hider
	entry := compiled.Spec.Entry.Common()
	return &Redactor{References: entry.Secrets, named: entry.Auth != nil || len(entry.Secrets) > 0,
		all: none.With(redaction.Word, compiled.Mask().Values(args)...)}
}

func WithRedactor(ctx context.Context, h *Redactor) context.Context {
	if h != nil && len(h.References) > 0 {
		ctx = tool.WithSecrets(ctx, h.secret)
	}
	return context.WithValue(ctx, hidingKey{}, h)
}

func RedactorFromContext(ctx context.Context) *Redactor {
	h, _ := ctx.Value(hidingKey{}).(*Redactor)
	return h
}

// Hide adds secrets that the call has obtained.
func (h *Redactor) Hide(secrets ...string) {
	if h == nil || len(secrets) == 0 {
		return
	}
	secrets = slices.Concat(secrets, outbound.SplitLines(secrets))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.named = true
	for _, s := range secrets {
		if !slices.Contains(h.values, s) {
			h.values = append(h.values, s)
		}
	}
	h.secrets, h.all = h.secrets.With(redaction.HiddenSecret, secrets...),
		h.all.With(redaction.HiddenSecret,
			secrets...)
}

// Join makes a call hide what its instance hides.
func (h *Redactor) Join(other *Redactor) {
	if h == nil || other == nil {
		return
	}
	other.mu.Lock()
	secrets := slices.Clone(other.values)
	other.mu.Unlock()
	if len(secrets) > 0 {
		h.Hide(secrets...)
	}
}

// hiders returns a hider of the secrets alone, and one of everything hidden.
func (h *Redactor) hiders() (secrets, all *redaction.Hider) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.secrets, h.all
}

// Text redacts a text for people.
func (h *Redactor) Text(text string) string {
	_, all := h.hiders()
	return all.Text(text)
}

// Plain redacts an error. An error that has to be changed keeps only its text.
func (h *Redactor) Plain(err error) error {
	if err == nil {
		return nil
	}
	if text := h.Text(err.Error()); text != err.Error() {
		return errors.New(text)
	}
	return err
}

// Error redacts a call's error.
func (h *Redactor) Error(e *api.Error) *api.Error {
	_, all := h.hiders()
	return callview.HideError(all, e)
}

// NoteHidden is the note on an answer that contained a secret.
const NoteHidden = "a secret that was in the answer was replaced by " + redaction.HiddenSecret

// Answer returns an answer without the secrets of the call, and its notes also without the
// sensitive arguments.
func (h *Redactor) Answer(a Answer) Answer {
	if h == nil {
		return a
	}
	secrets, all := h.hiders()
	a.Output, _ = secrets.JSON(a.Output)
	a.Notes = all.Texts(a.Notes)
	if h.named && strings.Contains(string(a.Output), redaction.HiddenSecret) &&
		!slices.Contains(a.Notes,
			NoteHidden) {
		a.Notes = append(slices.Clip(a.Notes), NoteHidden)
	}
	return a
}

// RedactReports returns a context whose progress reports and log messages are redacted.
func (h *Redactor) RedactReports(outer context.Context) context.Context {
	ctx := callcontext.WithProgress(outer, func(p api.Progress) {
		p.Message = h.Text(p.Message)
		callcontext.ReportProgress(outer, p)
	})
	return callcontext.WithLog(ctx, func(l api.LogLine) {
		_, all := h.hiders()
		l.Logger = all.Text(l.Logger)
		l.Data, _ = all.JSON(l.Data)
		callcontext.Log(outer, l)
	})
}
