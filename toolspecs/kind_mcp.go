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
)

var pinForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// IsPin reports whether text has the form of a pin, which mcpclient.Tool.Digest returns.
func IsPin(text string) bool { return pinForm.MatchString(text) }

const hintPin = "run starter tools accept FILE: it shows the server's tool and writes its pin"

// mcpKind is the kind of tools of an MCP server.
type mcpKind struct{}

func (mcpKind) setDefaults(s *Spec) {
	e := &s.Entry
	e.Session = cmp.Or(e.Session, SessionRun)
	e.Tool = cmp.Or(e.Tool, s.Name)
	s.spreadReads()
	if e.Session != SessionShared {
		s.instanceDefaults()
	}
}

func (mcpKind) check(c *checker, s Spec) { mcpChecker{requestChecker{c, true}}.mcp(s) }

func (mcpKind) dispatch(e Entry) api.Dispatch {
	if e.Session == SessionShared {
		return api.DispatchLane
	}
	return api.DispatchInstance
}

// instance returns the name of the session that tools of one server share. It begins with the
// program or host, for people.
func (mcpKind) instance(s *Spec) string {
	name := "server"
	if u, err := url.Parse(s.Entry.URL); err == nil && u.Hostname() != "" {
		name = u.Hostname()
	} else if len(s.Entry.Argv) > 0 {
		name = path.Base(filepath.ToSlash(s.Entry.Argv[0]))
	}
	return "mcp-" + name + "-" + s.Entry.ServerDigest()[:8]
}

// sessionHostWithin bounds how long calls wait for a worker that hosts their session.
const sessionHostWithin = api.Duration(time.Hour)

// hostWithin has a bound because workers host sessions on lanes other than general only while they
// have a toolspec of the lane, so that a run can outlive all its possible hosts.
func (mcpKind) hostWithin(lane string) api.Duration {
	if lane == api.LaneGeneral {
		return 0
	}
	return sessionHostWithin
}

type mcpChecker struct{ requestChecker }

func (c mcpChecker) mcp(s Spec) {
	e := s.Entry
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
	c.session(s)
	switch {
	case e.Pin == "":
		c.Add("$.entry", hintPin, "the server's tool is not accepted: pin is missing")
	case !IsPin(e.Pin):
		c.Add("$.entry.pin", hintPin, "a pin is sha256: and 64 hexadecimal digits")
	}
}

// noServer reports a tool without argv and url.
func (c mcpChecker) noServer(e Entry) {
	if e.Server != "" {
		c.Add("$.entry.server", "load the toolspec from its file, or write argv or url",
			"the server %q is not looked up", e.Server)
		return
	}
	c.Add("$.entry", "write server: NAME, argv: [program, argument, …] or url: https://…",
		"an MCP tool needs its server: server, argv or url")
}

// session checks that a shared session has no fields of sessions of runs.
func (c mcpChecker) session(s Spec) {
	e := s.Entry
	const hint = "remove it, or write session: run"
	if e.Session != SessionShared {
		c.closes(s)
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

func (c mcpChecker) mcpProgram(e Entry) {
	for i, element := range e.Argv {
		path := jsonpath.Index("$.entry.argv", i)
		if strings.ContainsRune(element, 0) || i == 0 && element == "" {
			c.Add(path, "", "argv contains a NUL character or an empty program")
		}
		c.noPlaceholder(path, element)
	}
	c.env(e.Env)
	c.dir(e.Dir)
	c.notWith(e.Auth != nil, "auth", "url", "name it in secrets")
	c.notWith(e.Headers != nil, "headers", "url", "remove it")
	c.notWith(e.Allow != nil, "allow", "url", "remove it")
}

func (c mcpChecker) mcpOverHTTP(e Entry) {
	c.address("$.entry.url", e.URL)
	c.outbound(e, nil)
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

// MCPServer returns the server of a tool of the kind mcp.
func (e *Entry) MCPServer() *mcpclient.Server {
	return &mcpclient.Server{Argv: e.Argv, Dir: e.Dir, Env: e.Env, SetEnv: e.SetEnv,
		Secrets: e.Secrets, URL: e.URL,
		Headers: e.Headers,
		Auth:    e.Auth, Allow: e.Allow}
}

// ServerDigest identifies the server of a tool of the kind mcp and how it is reached, in
// hexadecimal.
func (e *Entry) ServerDigest() string {
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
