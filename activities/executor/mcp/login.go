package mcp

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/tool"
)

// loginAnswer is the schema of the answer to askLogin's question.
var loginAnswer = json.RawMessage(`{"type":"string","title":"address","minLength":1}`)

// askLogin asks a person to log in at an MCP server during the call of ctx, and returns the final
// address of the browser. The code in the address is useless to readers of the run's history: it is
// valid once, and only for this process, which alone knows the verifier. A person who declines ends
// the call with approval_denied.
func askLogin(ctx context.Context, address string) (string, error) {
	reply, err := tool.Ask(ctx,
		"The MCP server wants a login. Open this address in a browser, log in, allow the access, and answer with the whole "+
			"address at which the browser ends, even if it shows an error there:\n"+address,
		loginAnswer)
	if err != nil {
		return "", err
	}
	if reply.Decline {
		return "", people.RefusalError(reply)
	}
	var final string
	if err := json.Unmarshal(reply.Value, &final); err != nil {
		return "", api.Errorf(api.ErrPreconditionFailed,
			"the answer to the question for a login is no text, so nothing was called")
	}
	return final, nil
}
