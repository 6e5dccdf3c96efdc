package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/sdk/client"
)

// changes reads the changed arguments from JSON or a file.
func (f *decisionFlags) changes(a *cli.App) (json.RawMessage, error) {
	text := f.edit
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if _, err := os.Stat(text); err != nil && text != "-" {
			return nil, fmt.Errorf(
				"%s is neither a JSON object with the changed arguments, such as --edit '{\"amount\": 80}', nor a file with one",
				api.Shorten(text, 80))
		}
		data, err := answerFile(text, a.In)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	if _, err := api.DecodeJSON([]byte(text)); err != nil {
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
func waitingCall(ctx context.Context, c client.Client, o audit.RunApproval) json.RawMessage {
	for r, err := range audit.Records(ctx, c, o.WorkflowID, "") {
		if err != nil {
			return nil
		}
		if r.CallID == o.Call {
			return r.Arguments
		}
	}
	return nil
}

// showEdit shows what an edit changes.
func (s seeing) showEdit(o audit.RunApproval, edit json.RawMessage) {
	if s.app.Format.JSON() {
		return
	}
	p := s.app.PaletteFor(s.app.Err)
	fmt.Fprintln(s.app.Err, p.Bold("  as edited"))
	writeEdit(s.app.Err, s.arguments(o), edit)
}

// maxShownValue bounds an argument shown with an edit, in characters.
const maxShownValue = 200

// writeEdit writes one line for each argument that an edit gives: its name, the value before, if
// the arguments are known, and the value after.
func writeEdit(w io.Writer, before, edit json.RawMessage) {
	var was, is map[string]json.RawMessage
	_ = json.Unmarshal(before, &was) // unknown, or of a call without arguments
	_ = json.Unmarshal(edit, &is)    // it is an object
	names, _ := jsontext.ParseOrdered(edit)
	object, _ := names.(*jsontext.Object)
	for _, name := range object.Names() {
		old, now := argumentText(was[name]), argumentText(is[name])
		if was == nil {
			fmt.Fprintf(w, "    %s: %s\n", cli.PlainText(name), now)
			continue
		}
		fmt.Fprintf(w, "    %s: %s → %s\n", cli.PlainText(name), old, now)
	}
}

// argumentText formats an argument. One that is missing, or that an edit removes, is absent.
func argumentText(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return "(absent)"
	}
	return api.Shorten(string(value), maxShownValue)
}
