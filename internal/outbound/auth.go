package outbound

import "cmp"

// OAuth is the type of Auth whose secret is the result of a login.
const OAuth = "oauth"

// OAuth grants of clients.
const (
	// GrantAuthorizationCode has a person log in with a browser.
	GrantAuthorizationCode = "authorization_code"
	// GrantClientCredentials has the client log in with its own secret.
	GrantClientCredentials = "client_credentials"
)

// defaultRedirectURL is where a browser is sent after a login. No server listens there: the person
// copies the address from the browser.
const defaultRedirectURL = "http://127.0.0.1:8976/callback"

// OAuth reports whether requests use a token from a login.
func (a *Auth) OAuth() bool { return a != nil && a.Type == OAuth }

// Auth describes the credentials of requests. Secret is a reference: env:NAME is an environment
// variable of the worker, file:PATH a file that the worker reads. The type oauth, for MCP servers
// with url, uses a token from a login instead.
type Auth struct {
	// Type is bearer, basic (the secret is user:password), header, query or oauth.
	Type string `json:"type" yaml:"type" rule:"required,enum=bearer|basic|header|query|oauth"`
	// Secret is required, except for oauth, where it is the client secret of ClientID.
	Secret string `json:"secret,omitempty" yaml:"secret" rule:"secret"`
	// Name is the header's or query parameter's; only for those two types.
	Name string `json:"name,omitempty" yaml:"name"`

	// ClientID, like all following fields, is for oauth: the client's ID at the authorization
	// server. If empty, the client registers itself.
	ClientID string `json:"client_id,omitempty" yaml:"client_id"`
	// Issuer identifies the authorization server that knows ClientID and Secret; required with
	// Secret, which is sent to no other server.
	Issuer string `json:"issuer,omitempty" yaml:"issuer"`
	// ClientMetadataURL is the https address of a document that describes this client, for servers
	// that take it in place of a client id.
	ClientMetadataURL string `json:"client_metadata_url,omitempty" yaml:"client_metadata_url"`
	// RedirectURL is where the browser is sent in the end; default http://127.0.0.1:8976/callback.
	// Nothing need be there.
	RedirectURL string `json:"redirect_url,omitempty" yaml:"redirect_url"`
	// Scopes are asked for in place of those that the server names.
	Scopes []string `json:"scopes,omitempty" yaml:"scopes" rule:"min=1"`
	// Grant is authorization_code (a person logs in; the default) or client_credentials (the client
	// does, with its secret).
	Grant string `json:"grant,omitempty" yaml:"grant" rule:"enum=authorization_code|client_credentials"`
}

// Redirect returns where the browser is sent after a login.
func (a *Auth) Redirect() string { return cmp.Or(a.RedirectURL, defaultRedirectURL) }
