package toolspecs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/outbound"
)

var pinForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsPin reports whether text has the form of a pin, which mcpclient.Tool.Digest returns.
func IsPin(text string) bool { return pinForm.MatchString(text) }

const hintPin = "run starter tools accept FILE: it shows the server's tool and writes its pin"

// KindMCP is a tool of an MCP server, by configuration only.
const KindMCP = "mcp"

// Values of MCPEntry.Session.
const (
	// SessionRun is one session for each run that calls tools of the server. It is the default.
	SessionRun = "run"
	// SessionShared declares a server that keeps no state: the calls of all runs share connections.
	SessionShared = "shared"
)

// MCPEntry is the entry of tools that call a tool of an MCP server.
//
// The server gets the idempotency key of the call as io.github.switchyard/idempotency-key in _meta.
// An answer with isError is a failure, a lost connection a transient one.
type MCPEntry struct {
	// Argv is the server's program and its arguments, without a shell. It communicates over
	// standard input and output.
	Argv []string `json:"argv,omitempty" yaml:"argv" rule:"min=1"`
	// Dir, Env, SetEnv and Secrets are those of a CommandEntry, for the server's program.
	Dir     string            `json:"dir,omitempty" yaml:"dir"`
	Env     []string          `json:"env,omitempty" yaml:"env" pattern:"^[A-Za-z_][A-Za-z0-9_]*$ %q cannot name an environment variable" hint:"list names, not values; the values come from the worker's environment"`
	SetEnv  map[string]string `json:"set_env,omitempty" yaml:"set_env"`
	Secrets map[string]string `json:"secrets,omitempty" yaml:"secrets" rule:"secret"`
	// OnLoss, IdleTimeout, Scope and Closes are those of a StatefulEntry, for the session.
	OnLoss      api.OnLoss   `json:"on_loss,omitempty" yaml:"on_loss" rule:"enum=fail|recreate"`
	IdleTimeout api.Duration `json:"idle_timeout,omitzero" yaml:"idle_timeout" rule:"min=1s,max=24h"`
	Scope       api.Scope    `json:"scope,omitempty" yaml:"scope" rule:"enum=run|conversation"`
	Closes      bool         `json:"closes,omitempty" yaml:"closes"`
	// Headers maps names to values that are sent to a server with a URL.
	Headers json.RawMessage `json:"headers,omitempty" yaml:"headers"`
	// Auth is that of a RESTEntry, or of the type oauth, for which a person logs in at the server.
	Auth *outbound.Auth `json:"auth,omitempty" yaml:"auth" rule:"secret"`
	// Allow lists host names, addresses and ranges that may be reached besides the host of url, and
	// those allowed although they are loopback, private or otherwise not public.
	Allow []string `json:"allow,omitempty" yaml:"allow"`
	// Server names a server of the servers file, which declares how to reach it and defaults of its
	// tools.
	Server string `json:"server,omitempty" yaml:"server"`
	// unresolved is set if Server could not be looked up.
	unresolved bool
	// URL is the server's streamable-HTTP endpoint, or env:NAME; it is set if Argv is not.
	URL string `json:"url,omitempty" yaml:"url"`
	// Tool is the tool's name on the server; default the tool's name.
	Tool string `json:"tool,omitempty" yaml:"tool"`
	// Session is run (the default): each run has its own session; or shared: all runs share
	// connections, for servers that keep no state.
	Session string `json:"session,omitempty" yaml:"session" rule:"enum=run|shared"`
	// Pin is sha256: and the digest of the remote tool's name, description and schemas when it was
	// accepted. It is required.
	Pin string `json:"pin,omitempty" yaml:"pin"`
	// AnswerWithin allows the server to ask a person during a call, and bounds the wait for the
	// answer; without it, the default, such questions are declined.
	AnswerWithin api.Duration `json:"answer_within,omitzero" yaml:"answer_within" rule:"above=0s,max=8760h"`
}

// Name implements Kind.
func (MCPEntry) Name() string { return KindMCP }

// Common implements Kind. A server does not say which call its question belongs to.
func (e MCPEntry) Common() Common {
	return Common{Env: e.Env, Secrets: e.Secrets, Auth: e.Auth, Address: e.URL, Allow: e.Allow,
		Server: e.Server, ServerDefaults: true, AnswerWithin: e.AnswerWithin,
		Instance: InstanceFields{OnLoss: e.OnLoss, IdleTimeout: e.IdleTimeout, Scope: e.Scope,
			Closes: e.Closes, AsksAlone: e.AnswerWithin > 0}}
}

func (e MCPEntry) withDefaults(s *Spec) Kind {
	e.Session = cmp.Or(e.Session, SessionRun)
	e.Tool = cmp.Or(e.Tool, s.Name)
	s.spreadReads()
	if e.Session != SessionShared {
		e.OnLoss = cmp.Or(e.OnLoss, api.OnLossFail)
		e.IdleTimeout = cmp.Or(e.IdleTimeout, defaultIdleTimeout)
		s.instanceDefaults(e.Closes)
	}
	return e
}

func (e MCPEntry) check(c *checker, s Spec) { mcpChecker{requestChecker{c, true}}.mcp(e, s) }

func (e MCPEntry) dispatch() api.Dispatch {
	if e.Session == SessionShared {
		return api.DispatchLane
	}
	return api.DispatchInstance
}

// withoutSlots implements slotChooser.
func (MCPEntry) withoutSlots() (what, remedy string) {
	return "MCP tools with a session of the run",
		"write session: shared if the server keeps no state"
}

// describeOutside implements outsideDescriber.
func (MCPEntry) describeOutside(s Spec) (writes, reads string) {
	if s.Execution.Effect == api.EffectRead {
		return "", "from an MCP server"
	}
	return "an MCP server, and not declared to only read", ""
}

// instance returns the name of the session that tools of one server share. It begins with the
// program or host, for people.
func (e MCPEntry) instance() string {
	name := "server"
	if u, err := url.Parse(e.URL); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	} else if len(e.Argv) > 0 {
		name = path.Base(filepath.ToSlash(e.Argv[0]))
	}
	return "mcp-" + name + "-" + e.ServerDigest()[:8]
}

// sessionHostWithin bounds how long calls wait for a worker that hosts their session.
const sessionHostWithin = api.Duration(time.Hour)

// hostWithin has a bound because workers host sessions on lanes other than general only while they
// have a toolspec of the lane, so that a run can outlive all its possible hosts.
func (MCPEntry) hostWithin(lane string) api.Duration {
	if lane == api.LaneGeneral {
		return 0
	}
	return sessionHostWithin
}

type mcpChecker struct{ requestChecker }

func (c mcpChecker) mcp(e MCPEntry, s Spec) {
	c.environment(e.Env, e.SetEnv, e.Secrets)
	switch {
	case e.unresolved:
	case len(e.Argv) == 0 && e.URL == "":
		c.noServer(e)
	case len(e.Argv) > 0 && e.URL != "":
		c.AddKey("$.entry.url", "keep one of them", "a tool has either argv or url, not both")
	case e.URL != "":
		c.mcpOverHTTP(e)
	default:
		c.mcpProgram(e)
	}
	c.session(e, s)
	switch {
	case e.Pin == "":
		c.Add("$.entry", hintPin, "the server's tool is not accepted: pin is missing")
	case !IsPin(e.Pin):
		c.Add("$.entry.pin", hintPin, "a pin is sha256: and 64 hexadecimal digits")
	}
}

// noServer reports a tool without argv and url.
func (c mcpChecker) noServer(e MCPEntry) {
	if e.Server != "" {
		c.Add("$.entry.server", "load the toolspec from its file, or write argv or url",
			"the server %q is not looked up", e.Server)
		return
	}
	c.Add("$.entry", "write server: NAME, argv: [program, argument, …] or url: https://…",
		"an MCP tool needs its server: server, argv or url")
}

// session checks that a shared session has no fields of sessions of runs.
func (c mcpChecker) session(e MCPEntry, s Spec) {
	const hint = "remove it, or write session: run"
	if e.Session != SessionShared {
		c.closes(e.Closes, s)
		return
	}
	if e.Closes {
		c.AddKey("$.entry.closes", hint, "runs share the session, so that none of them closes it")
	}
	if e.OnLoss != "" {
		c.AddKey("$.entry.on_loss", hint, "a shared session has no state to lose")
	}
	if e.Scope != "" {
		c.AddKey("$.entry.scope", hint, "a shared session serves all conversations")
	}
	if e.IdleTimeout != 0 {
		c.AddKey("$.entry.idle_timeout", hint, "idle_timeout is for sessions of runs")
	}
}

func (c mcpChecker) mcpProgram(e MCPEntry) {
	for i, element := range e.Argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.Add(path, "", "argv contains a NUL character or an empty program")
		}
		c.noPlaceholder(path, element)
	}
	c.dir(e.Dir)
	c.notWith(e.Auth != nil, "auth", "url", "name it in secrets")
	c.notWith(e.Headers != nil, "headers", "url", "remove it")
	c.notWith(e.Allow != nil, "allow", "url", "remove it")
}

func (c mcpChecker) mcpOverHTTP(e MCPEntry) {
	c.address("$.entry.url", e.URL)
	c.outbound(request{e.Headers, e.Auth, e.Allow}, nil)
	if headers, err := jsontext.ParseOrdered(e.Headers); err == nil {
		c.mcpHeaders(headers)
	}
	c.notWith(e.Dir != "", "dir", "argv", "remove it")
	c.notWith(e.Env != nil, "env", "argv", "remove it")
	c.notWith(e.SetEnv != nil, "set_env", "argv", "remove it")
	c.notWith(e.Secrets != nil, "secrets", "argv", "name the secret in auth")
}

func (c mcpChecker) mcpHeaders(headers any) {
	names, _ := headers.(*jsontext.Object)
	for _, name := range names.Names() {
		key := http.CanonicalHeaderKey(name)
		if strings.HasPrefix(key, "Mcp-") || key == "Accept" || key == "Content-Type" {
			c.AddKey(jsonpath.Key("$.entry.headers", name), "remove it",
				"the header %s is set by the protocol", key)
		}
	}
}

// notWith reports a field that is set but has no effect without other.
func (c mcpChecker) notWith(set bool, field, other, hint string) {
	if set {
		c.AddKey("$.entry."+field, hint, "%s is for servers with %s", field, other)
	}
}

func (c mcpChecker) noPlaceholder(path, text string) {
	if placeholder.MatchString(text) {
		c.Add(path, "remove it; arguments reach the tool through its call",
			"one server serves many calls, so it cannot contain placeholders")
	}
}

// MCPServer returns the tool's server.
func (e MCPEntry) MCPServer() *mcpclient.Server {
	return &mcpclient.Server{Argv: e.Argv, Dir: e.Dir, Env: e.Env, SetEnv: e.SetEnv,
		Secrets: e.Secrets, URL: e.URL,
		Headers: e.Headers,
		Auth:    e.Auth, Allow: e.Allow}
}

// ServerDigest identifies the tool's server and how it is reached, in hexadecimal.
func (e MCPEntry) ServerDigest() string {
	data, err := json.Marshal(e.MCPServer())
	if err != nil { // headers that are not JSON, which the checker rejects
		data = fmt.Append(nil, *e.MCPServer())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// MCPChanges returns the differences between a tool of the kind mcp and the tool that its server
// lists.
func (s *Spec) MCPChanges(remote mcpclient.Tool) []mcpclient.Change {
	declared := mcpclient.Tool{Description: s.Description, InputSchema: s.InputSchema,
		OutputSchema: s.OutputSchema}
	if compiled, err := s.Compile(); declared.InputSchema == nil && err == nil {
		declared.InputSchema = compiled.InputSchema()
	}
	if s.OutputSchema == nil && s.Output != nil {
		declared.OutputSchema = remote.OutputSchema // parameters are not compared with a schema
	}
	return mcpclient.Diff(declared, remote)
}
