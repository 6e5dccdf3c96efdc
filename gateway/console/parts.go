package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
)

// newFields returns names with values, as the data of a template.
func newFields(pairs ...any) map[string]any {
	fields := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		fields[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return fields
}

// askedPart is the data of what is shown of a waiting call.
type askedPart struct {
	WorkflowID string
	Approval   *switchyard.Approval
	About      *about
}

// newAskedPart takes an approval or the pointer to one.
func newAskedPart(approval any, about *about) askedPart {
	a, ok := approval.(*switchyard.Approval)
	if value, plain := approval.(switchyard.Approval); plain {
		a, ok = &value, true
	}
	if !ok {
		return askedPart{About: about}
	}
	return askedPart{WorkflowID: a.WorkflowID, Approval: a, About: about}
}

// Arguments are those of the call; nil if they are unknown, too large to be shown, or no object.
func (a askedPart) Arguments() []arguments.Argument {
	if a.About == nil || a.Approval == nil || a.Approval.Limit != "" {
		return nil
	}
	return arguments.Of(a.About.Record.Arguments)
}

// Says is the text of the approval. The default text repeats the arguments; that is left out.
func (a askedPart) Says() string {
	return arguments.WithoutListing(a.Approval.Text, a.Arguments())
}

// Rules returns the rules that matched, without the one that the reason of the approval names.
func (a askedPart) Rules() []api.PolicyAction {
	return slices.DeleteFunc(slices.Clone(a.About.Record.Policies), func(r api.PolicyAction) bool {
		return a.Approval != nil && r.Rule == a.Approval.Rule &&
			strings.Contains(a.Approval.Reason, strconv.Quote(r.Rule))
	})
}

// entryID returns the id of the element of something that waits.
func entryID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = h.Write([]byte(p + "\x00"))
	}
	return "e" + hex.EncodeToString(h.Sum(nil)[:8])
}
