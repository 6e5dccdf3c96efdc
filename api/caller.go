package api

import (
	"cmp"
	"encoding/json"
)

// CallerType is the kind of caller.
type CallerType string

// The kinds of caller.
const (
	CallerAgent   CallerType = "agent"
	CallerPlan    CallerType = "plan"
	CallerSession CallerType = "session"
	CallerDirect  CallerType = "direct"
)

// Caller is who made a call: the name of an agent or a plan, or for a direct call the person or
// program.
type Caller struct {
	Type CallerType `json:"type"`
	ID   string     `json:"id,omitempty"`
	// Auth is how the one who started the run was authenticated, and Claims are the claims of that
	// identity, as JSON values. The callers of all calls of a run have those of the run's caller;
	// each call of a session has its own.
	Auth   AuthMethod     `json:"auth,omitempty"`
	Claims map[string]any `json:"claims,omitempty"`
	// Principal is that identity, if ID is not: for calls of agents and plans.
	Principal string `json:"principal,omitempty"`
}

// Identity returns the identity that Auth and Claims belong to.
func (c Caller) Identity() string { return cmp.Or(c.Principal, c.ID) }

// Is reports whether both are the same identity. Its claims differ from token to token.
func (c Caller) Is(other Caller) bool {
	return c.Auth == other.Auth && c.Identity() == other.Identity()
}

// Bare returns the caller without its claims.
func (c Caller) Bare() Caller {
	c.Claims = nil
	return c
}

// ToActivityInput returns the caller for the inputs of activities. Only the run and admission read
// the rest.
func (c Caller) ToActivityInput() Caller {
	c.Claims, c.Principal = nil, ""
	return c
}

// Origin is what all calls of one run share.
type Origin struct {
	// Run is the id of the first execution of the run's chain, stable over continue-as-new.
	Run    string `json:"run_id"`
	Caller Caller `json:"caller"`
	// Conversation groups runs; if it is empty, a CallContext has the workflow id instead.
	Conversation string         `json:"conversation,omitempty"`
	Trace        string         `json:"trace,omitempty"`
	Variables    map[string]any `json:"variables,omitempty"`
	// VariablesDigest stands for Variables that are too large for the input of every call. Workers
	// get them by VariablesQuery.
	VariablesDigest string `json:"variables_digest,omitempty"`
	// DryRun says that the run withholds calls that may change something. Hooks run nevertheless
	// and can check it.
	DryRun bool `json:"dry_run,omitempty"`
}

// maxPassedVariables bounds the variables in the input of every call, in bytes as JSON.
const maxPassedVariables = 4 << 10

// ToActivityInput returns the origin for the inputs of activities: with the digest of the variables
// in their
// place if they are large.
func (o Origin) ToActivityInput() Origin {
	o.Caller = o.Caller.ToActivityInput()
	data, err := json.Marshal(o.Variables)
	if err == nil && len(data) > maxPassedVariables {
		o.Variables, o.VariablesDigest = nil, Digest(data)
	}
	return o
}

// MCPMessage is what is known of the message tools/call of a call, for traces.
type MCPMessage struct {
	// Session identifies the session of the client; empty in revisions without sessions.
	Session string `json:"session_id,omitempty"`
	// Protocol is the revision of MCP, such as 2025-11-25; empty if it is unknown.
	Protocol string `json:"protocol_version,omitempty"`
	// Transport is tcp for HTTP, pipe for standard streams.
	Transport string `json:"transport,omitempty"`
}

// AuthMethod is how an identity was established. Empty means that a program on the Temporal server
// named itself.
type AuthMethod string

// The methods of the gateway.
const (
	// AuthToken is a signed token (JWT) of a trusted issuer.
	AuthToken AuthMethod = "jwt"
	// AuthKey is an API key.
	AuthKey AuthMethod = "api_key"
	// AuthOIDC is a login in a browser, by OpenID Connect.
	AuthOIDC AuthMethod = "oidc"
	// AuthLink is a signed link of a notice: whoever has it.
	AuthLink AuthMethod = "link"
	// AuthLoopback is a gateway without authentication, which serves only its own machine.
	AuthLoopback AuthMethod = "loopback"
)

// UserRole is what a user of the gateway may do. gateway.yaml gives roles to identities.
type UserRole string

// The roles.
const (
	// RoleViewer sees runs, RoleOperator controls them, and RoleApprover decides about calls.
	RoleViewer   UserRole = "viewer"
	RoleOperator UserRole = "operator"
	RoleApprover UserRole = "approver"
)
