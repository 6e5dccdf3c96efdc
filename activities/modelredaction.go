package activities

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// sensitiveIn returns a hider of the sensitive values in a conversation's call arguments and
// results. It returns nil if no tool of the catalog has sensitive values.
func sensitiveIn(catalog api.Catalog, messages []api.Message) *redaction.Hider {
	masked := map[string]api.Tool{}
	for _, t := range catalog.Tools {
		if callview.ArgumentMask(t) != nil || t.OutputMask != nil {
			masked[t.Name] = t
		}
	}
	if len(masked) == 0 {
		return nil
	}
	var values []string
	tools := map[string]api.Tool{}
	for _, m := range messages {
		for _, c := range m.Calls {
			tools[c.ID] = masked[c.Tool]
			values = append(values,
				callview.ArgumentMask(masked[c.Tool]).Values(json.RawMessage(c.Arguments))...)
		}
		if m.CallID != "" && !m.Failed {
			values = append(values, tools[m.CallID].OutputMask.Values(outputIn(m.Text))...)
		}
	}
	var none *redaction.Hider
	return none.With(redaction.Word, values...)
}

// outputIn returns the output contained in the result text that a model sees.
func outputIn(text string) json.RawMessage {
	if i := strings.LastIndex(text, api.NotesBegin); i >= 0 {
		text = text[:i]
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	data, err := jsonvalue.Encode(text)
	if err != nil {
		return nil
	}
	return data
}

// hiddenLive wraps say so that the streamed text of a step has the values of hider removed. It
// delays the end of the text while that end may be the beginning of a hidden value.
func hiddenLive(hider *redaction.Hider, say func(string)) func(string) {
	if hider == nil || say == nil {
		return say
	}
	var pending string
	return func(piece string) {
		shown, rest := hider.Split(pending + piece)
		pending = rest
		say(shown)
	}
}

// hiddenFailure returns the error of a model step with the values of hider removed, because servers
// quote the requests they reject.
func hiddenFailure(hider *redaction.Hider, err error) error {
	text := hider.Text(err.Error())
	if text == err.Error() {
		return err
	}
	e, ok := errors.AsType[*models.Error](err)
	if !ok {
		return fmt.Errorf("%s", text)
	}
	hidden := *e
	hidden.Message = text
	return &hidden
}
