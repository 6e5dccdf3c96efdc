package gateway

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/login"
	"github.com/switchyard/switchyard/toolspecs"
)

// frontSettings has a server for everyone with a key, servers that need a scope or claims, a scope
// for approvals and a role.
const frontSettings = `
public_url: https://tools.example.org
access:
  api_keys: keys.yaml
  issuers: [{issuer: "https://issuer.example.org"}]
  claims: [group]
  roles: {viewer: [{name: "key:viewer"}]}
limits: {requests_per_second: 1000000, burst: 1000000}
servers:
  default: {tools: [on_default]}
  billing: {tools: [on_billing], scopes: [billing]}
  board: {tools: [on_board], scopes: [billing], claims: {group: [board]}}
`

// frontKeys are the API keys by the name of their owner.
var frontKeys = map[string]access.Key{
	"bare":     {},
	"billing":  {Scopes: []string{"billing"}},
	"board":    {Scopes: []string{"billing"}, Claims: []byte(`{"group":"board"}`)},
	"operator": {Scopes: []string{"operator"}},
	"viewer":   {},
}

// openCalls are sessions with one call that waits for approval.
type openCalls struct{ gateway.Sessions }

func (openCalls) Approvals(context.Context) ([]gateway.OpenApproval, error) {
	return []gateway.OpenApproval{{Run: "run", Approval: api.Approval{Call: "1.1", Tool: "pay",
		ApprovalNeed: api.ApprovalNeed{Text: "pay ada"}}}}, nil
}

// frontLab is everything that starter gateway serves, with stubs behind the checks.
type frontLab struct {
	t *testing.T
	http.Handler
	// keys are the secrets of frontKeys, cookie is the session of the viewer in the console.
	keys   map[string]string
	cookie string
}

func newFrontLab(t *testing.T) *frontLab {
	t.Helper()
	dir := t.TempDir()
	l := &frontLab{t: t, keys: map[string]string{}}
	for name, k := range frontKeys {
		k.Name = name
		var err error
		if l.keys[name], err = access.AddKey(filepath.Join(dir, "keys.yaml"), k, time.Now()); err !=
			nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(config, []byte(frontSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	guard, err := access.Open(config, access.Options{Listen: ":8090"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	people, err := login.New(login.Config{Access: guard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(people.Close)
	stub := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(text))
		})
	}
	l.Handler = front(guard.Middleware(frontGateway(t, guard)),
		guard.Screen(people.Middleware(stub("a page for people"))), guard.Screen(stub("a link")),
		stub("ready"))
	l.logIn()
	return l
}

// frontGateway returns a gateway with one tool for each virtual server.
func frontGateway(t *testing.T, guard *access.Access) http.Handler {
	t.Helper()
	var specs []toolspecs.Spec
	for _, name := range []string{"on_default", "on_billing", "on_board"} {
		specs = append(specs, toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Works.",
			Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: name}}})
	}
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Sessions: openCalls{}, Caller: caller,
		Catalog: func() *toolspecs.Catalog { return catalog }, Roles: access.RolesFromRequest,
		Select: guard.Select, Operates: guard.Operates})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// logIn logs the viewer in to the console.
func (l *frontLab) logIn() {
	l.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://tools.example.org/console/login",
		strings.NewReader(url.Values{"key": {l.keys["viewer"]}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	l.ServeHTTP(w, r)
	l.cookie, _, _ = strings.Cut(w.Header().Get("Set-Cookie"), ";")
	if w.Code != http.StatusSeeOther || l.cookie == "" {
		l.t.Fatalf("the viewer is not logged in: %d %s", w.Code, w.Body)
	}
}

// credential returns the header of a kind of sender.
func (l *frontLab) credential(who string) string {
	switch who {
	case "nobody":
		return ""
	case "stranger":
		return "Authorization: Bearer sygw_STRANGER\r\n"
	case "person":
		return "Cookie: " + l.cookie + "\r\n"
	}
	return "Authorization: Bearer " + l.keys[who] + "\r\n"
}

// senders are all kinds of credentials.
var senders = slices.Concat([]string{"nobody", "stranger", "person"},
	slices.Sorted(maps.Keys(frontKeys)))

const frontMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// frontRequests are a request for a page, for the tools of a server and for the open approvals.
var frontRequests = map[string]string{
	"GET": "",
	"POST tools/list": `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + frontMeta +
		`}}`,
	"POST tools/call": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` +
		`"name":"list_approvals","arguments":{},` + frontMeta + `}}`,
}

// frontTexts are the texts that show what a response comes from.
var frontTexts = map[string]string{"on_default": "default", "on_billing": "billing",
	"on_board": "board", "pay ada": "approvals", "a page for people": "page",
	"Log in": "login", "a link": "link", "--ground": "asset", `"resource":`: "metadata", "ok\n": "health",
	"ready": "ready"}

// ask sends all requests to a path, as it is written, and returns what they were served, and the
// statuses of all responses.
func (l *frontLab) ask(path, who string) (what string, statuses []int) {
	l.t.Helper()
	found := map[string]bool{}
	for kind, body := range frontRequests {
		method, rpc, _ := strings.Cut(kind, " ")
		raw := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: tools.example.org\r\n%s"+
			"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\nMcp-Name: list_approvals\r\n"+
			"Content-Length: %d\r\n\r\n%s", method, path, l.credential(who), rpc, len(body), body)
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
		if err != nil { // the server refuses it with 400
			statuses = append(statuses, http.StatusBadRequest)
			continue
		}
		w := httptest.NewRecorder()
		l.ServeHTTP(w, r)
		statuses = append(statuses, w.Code)
		for text, name := range frontTexts {
			if w.Code < 300 && strings.Contains(w.Body.String(), text) {
				found[name] = true
			}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " "), statuses
}

// frontTargets are the paths of everything that is served, each with what its senders are served;
// "*" are all senders that are not named.
var frontTargets = map[string]map[string]string{
	"/mcp":                                  {"*": "default", "nobody": "", "stranger": "", "person": ""},
	"/mcp/default":                          {"*": "default", "nobody": "", "stranger": "", "person": ""},
	"/mcp/billing":                          {"billing": "billing", "board": "billing"},
	"/mcp/board":                            {"board": "board"},
	"/operator":                             {"operator": "approvals"},
	"/console/":                             {"person": "page"},
	"/console":                              {"person": "page"},
	"/console/run/result":                   {"person": "page"},
	"/console/login":                        {"*": "login", "person": ""},
	static.Path(static.Style):               {"*": "asset"},
	"/console/link/abc.def":                 {"*": "link"},
	"/healthz":                              {"*": "health"},
	"/readyz":                               {"*": "ready"},
	"/.well-known/oauth-protected-resource": {"*": "metadata"},
	"/.well-known/oauth-protected-resource/mcp/billing": {"*": "metadata"},
	"/.well-known/oauth-protected-resource/operator":    {"*": "metadata"},
}

// spellings returns other ways to write a path.
func spellings(path string) []string {
	first, last := path[1:2], path[len(path)-1:]
	escape := func(s string) string { return fmt.Sprintf("%%%02x", s[0]) }
	cut := path[:len(path)-1]
	return []string{
		path + "/", path + "//", path + "/.", path + "/..", path + "/x/..", path + "/./", path + "/../", path + ";",
		path + ";x=1", path + "/;", path + "..;/", path + "/..;/", path + "%2f", path + "%2F",
		path + "%5c", path + `\`, path + "%00", path + "\x00", path + "%20", path + "%09", path + "+",
		path + "%0a", path + "%0d%0a", path + "%3f", path + "%23", path + "#x", path + "%252f",
		path + ".", path + "..", path + "~", path + ".json", path + ",", path + ":", path + "\u200b", path + "%e2%80%8b",
		path + "\u00e9", path + "%c0%af", path + "/%2e", path + "/%2e%2e", path + "%2f..%2foperator",
		"/" + path, "//" + path, "/." + path, "/x/.." + path, "/.." + path, "/%2e" + path,
		"/x/%2e%2e" + path, "/%2f" + path[1:], "%2f" + path[1:], `/\` + path[1:], "/;" + path,
		"/..;" + path, "/" + escape(first) + path[2:], cut + escape(last), cut + "%25" + escape(last)[1:],
		strings.ToUpper(path), "/" + strings.ToUpper(first) + path[2:],
		strings.ReplaceAll(path, "/", "//"), strings.ReplaceAll(path, "/", "%2f"),
		strings.ReplaceAll(path, "/", `\`), strings.ReplaceAll(path, "/", "/./"),
		"/mcp/.." + path, "/operator/.." + path, "/mcp/%2e%2e" + path, "/mcp/billing/.." + path,
		"/console" + path, "/console/static/.." + path, "/console/login/.." + path,
		"/healthz/.." + path, "/.well-known/.." + path,
	}
}

// A path is served with the checks of what it names, or it is not served: no spelling of it leads
// to something else, or to the same with other checks.
func TestFront_ServesEachTargetByItsOnePathAndToItsSendersOnly(t *testing.T) {
	l := newFrontLab(t)
	for path, want := range frontTargets {
		for _, who := range senders {
			expected, named := want[who]
			if !named {
				expected = want["*"]
			}
			for _, query := range []string{"", "?", "?x=1", "?/operator", "?a=/../mcp"} {
				if got, statuses := l.ask(path+query, who); got != expected {
					t.Errorf("%s by %s: served %q with %v, want %q", path+query, who, got, statuses,
						expected)
				}
			}
			if got, _ := l.ask("http://tools.example.org"+path, who); got != expected {
				t.Errorf("%s by %s as an address: served %q, want %q", path, who, got, expected)
			}
			for _, other := range spellings(path) {
				if _, canonical := frontTargets[other]; canonical {
					continue
				}
				got, statuses := l.ask(other, who)
				if got != "" || slices.ContainsFunc(statuses, func(s int) bool {
					return s != http.StatusNotFound && s != http.StatusBadRequest
				}) {
					t.Errorf("%q by %s: served %q with %v, want nothing", other, who, got, statuses)
				}
			}
		}
	}
}
