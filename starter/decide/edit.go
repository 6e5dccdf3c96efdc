package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
	"github.com/switchyard/switchyard/starter/cli"
)

// changes reads the changed arguments from JSON or a file.
func (f *decisionFlags) changes(a *cli.App) (json.RawMessage, error) {
	text, err := readInput(f.edit, a.In)
	if err != nil {
		return nil, err
	}
	if text == f.edit && !strings.HasPrefix(strings.TrimSpace(text), "{") {
		data, err := filewatch.ReadFile(text, api.MaxPayload)
		if err != nil {
			return nil, fmt.Errorf("%s is neither a JSON object with the changed arguments, such as "+
				"--edit '{\"amount\": 80}', nor a file with one: %w", display.Shorten(text, 80), err)
		}
		text = string(data)
	}
	if _, err := jsonvalue.Decode([]byte(text)); err != nil {
		return nil, fmt.Errorf(
			"the changed arguments are not JSON: %w; write a JSON object, such as --edit '{\"amount\": 80}'",
			err)
	}
	value, fault := jsontext.ParseOrdered([]byte(text))
	if fault != nil { // it is stricter
		return nil, fmt.Errorf("the changed arguments: %w", fault)
	}
	if _, object := value.(*jsontext.Object); !object {
		return nil, errors.New(
			"the changed arguments must be a JSON object, such as {\"amount\": 80}")
	}
	return json.RawMessage(text), nil
}

// waitingCall returns the arguments of a call that waits for approval, as its record has them; nil
// if the record cannot be read.
func waitingCall(ctx context.Context, run *switchyard.Run, call string) json.RawMessage {
	for r, err := range run.Records(ctx) {
		if err != nil {
			return nil
		}
		if r.CallID == call {
			return r.Arguments
		}
	}
	return nil
}

// showEdit shows what an edit changes.
func (s seeing) showEdit(edit json.RawMessage) {
	if s.app.Format.JSON() {
		return
	}
	p := s.app.PaletteFor(s.app.Err)
	fmt.Fprintln(s.app.Err, p.Bold("  as edited"))
	writeEdit(s.app.Err, s.arguments(), edit)
}

// maxShownValue bounds an argument shown with an edit, in characters.
const maxShownValue = 200

// writeEdit writes one line for each argument that an edit changes, also within objects: its name,
// the value before and the value after. If the arguments before are not known, it writes what the
// edit gives.
func writeEdit(w io.Writer, before, edit json.RawMessage) {
	patch, _ := jsontext.Parse(string(edit)) // it was read before
	was, _ := jsontext.Parse(string(before)) // unknown, or of a call without arguments
	if _, known := was.(map[string]any); !known {
		for _, given := range jsontext.Differences(map[string]any{}, patch) {
			fmt.Fprintf(w, "    %s: %s\n", cli.PlainText(given.Name()), argumentText(given.After))
		}
		return
	}
	changes := jsontext.Differences(was, jsontext.Merge(was, patch))
	for _, change := range changes {
		before, after := changeText(change)
		fmt.Fprintf(w, "    %s: %s → %s\n", cli.PlainText(change.Name()), before, after)
	}
	if len(changes) == 0 {
		fmt.Fprintln(w, "    nothing changes")
	}
}

// changeText formats an argument before and after an edit. A sensitive one is not shown.
func changeText(change jsontext.Difference) (before, after string) {
	before, after = valueText(change.Before), valueText(change.After)
	_, isObject := change.After.(map[string]any)
	switch {
	case change.Added:
		before = absent
	case change.Removed:
		after = absent
	case change.Before == redaction.Word && isObject:
		after = "merged with other members"
	case change.Before == redaction.Word:
		after = "another value"
	}
	return before, after
}

// absent stands for an argument that there is not.
const absent = "(absent)"

// argumentText formats an argument of an edit, which removes what it gives as null.
func argumentText(value any) string {
	if value == nil {
		return absent
	}
	return valueText(value)
}

func valueText(value any) string {
	return display.Shorten(string(jsontext.Encode(value, nil)), maxShownValue)
}
