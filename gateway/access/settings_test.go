package access

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/toolspecs"
)

// Each fault of gateway.yaml is reported with its place and a remedy.
func TestLoad_ReportsEveryFault(t *testing.T) {
	_, err := load(filepath.Join("testdata", "faults.yaml"))
	if err == nil {
		t.Fatal("it was read")
	}
	golden.Compare(t, filepath.Join("testdata", "faults.yaml.faults"), err.Error()+"\n")
}

// The file of docs/gateway.md is valid.
func TestLoad_ReadsTheDocumentedFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	if s := loadSettings(t, text); len(s.issuers) != 1 || len(s.servers) != 2 || s.keysPath == "" {
		t.Errorf("got %+v", s)
	}
}

// The file of docs/console.md is valid, too.
func TestLoad_ReadsTheDocumentedLogin(t *testing.T) {
	page, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	c := loadSettings(t, text).Console()
	if c.Issuer != "https://login.example.org" || c.ClientID != "switchyard-console" ||
		c.Session != 8*time.Hour || !c.Keys || c.Address != "https://tools.example.org" {
		t.Errorf("got %+v", c)
	}
}

// A virtual server offers the tools that fit one of its selectors, whose claims the caller has.
func TestSelect_OffersToolsByNameTagCategoryAndClaim(t *testing.T) {
	s := loadSettings(t, `
access: {claims: [groups, level]}
servers:
  default: {tools: ["read_*"]}
  billing:
    claims: {groups: [finance, audit]}
    tools:
      - {tag: billing}
      - {category: database, name: "?ccounts"}
      - {name: pay, claims: {level: ["3"]}}
`)
	var tools []*toolspecs.Compiled
	for _, spec := range []toolspecs.Spec{{Name: "read_page"}, {Name: "invoice",
		Tags: []string{"billing"}}, {Name: "accounts", Category: "database"}, {Name: "pay"},
		{Name: "accounts", Category: "http"}} {
		tools = append(tools, &toolspecs.Compiled{Spec: spec})
	}
	for _, tt := range []struct {
		server string
		claims map[string]any
		want   string
	}{
		{"", nil, "read_page"},
		{"default", nil, "read_page"},
		{"billing", nil,
			"the virtual server billing requires claims that the caller does not have"},
		{"billing", map[string]any{"groups": "finance"}, "invoice accounts"},
		{"billing", map[string]any{"groups": []any{"x", "audit"}, "level": json.Number("3")},
			"invoice accounts pay"},
		{"nowhere", nil, "there is no such virtual server"},
	} {
		selected, err := s.selectTools(tt.server, api.Caller{Claims: tt.claims}, tools)
		var names []string
		for _, c := range selected {
			names = append(names, c.Spec.Name)
		}
		if err != nil {
			names = []string{err.Error()}
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%s with %v: %q, want %q", tt.server, tt.claims, got, tt.want)
		}
	}
	if all, err := NewSettings().selectTools("", api.Caller{}, tools); err != nil || len(all) != 5 {
		t.Errorf("without a file: %d, %v", len(all), err)
	}
}

// Roles follow from names, scopes and claims. Whoever may use /operator is an approver, and without
// authentication everyone has all roles.
func TestRoles_FollowFromNamesScopesAndClaims(t *testing.T) {
	s := loadSettings(t, `
access:
  claims: [groups]
  roles:
    viewer: [{claims: {groups: [staff]}}]
    operator: ["key:ci", {scope: ops, claims: {groups: [staff]}}]
    approver: [ada]
`)
	staff := map[string]any{"groups": []any{"staff"}}
	for _, tt := range []struct {
		identity Identity
		want     string
	}{
		{Identity{ID: "bob", Method: api.AuthToken}, "[]"},
		{Identity{ID: "bob", Method: api.AuthToken, Claims: staff}, "[viewer]"},
		{Identity{ID: "bob", Method: api.AuthToken, Claims: staff, Scopes: []string{"ops"}},
			"[viewer operator]"},
		{Identity{ID: "bob", Method: api.AuthToken, Scopes: []string{"ops", "operator"}},
			"[approver]"},
		{Identity{ID: "ada", Method: api.AuthOIDC}, "[approver]"},
		{Identity{ID: "key:ci", Method: api.AuthKey}, "[operator]"},
		{localIdentity, "[viewer operator approver]"},
	} {
		if got := fmt.Sprint(s.findRoles(tt.identity)); got != tt.want {
			t.Errorf("%+v has the roles %s, want %s", tt.identity, got, tt.want)
		}
	}
}

// logged gets the messages of a logger.
type logged chan string

func (l logged) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// The file has hashes. A gateway that runs takes over new and revoked keys, and keeps the previous
// ones while the file is invalid.
func TestKeys_AreHashedAndRevocable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway-keys.yaml")
	c := newClock()
	add := func(k Key) string {
		t.Helper()
		secret, err := AddKey(path, k, c.now())
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	first := add(Key{Name: "ci", Scopes: []string{"tools"}, Claims: []byte(`{"groups":["dev"]}`)})
	short := add(Key{Name: "short", Expires: c.now().Add(time.Hour).Format(time.RFC3339)})
	data, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || info.Mode() != 0o600 ||
		strings.Contains(string(data), first) {
		t.Fatalf("mode %v, %v:\n%s", info.Mode(), err, data)
	}
	if _, err := AddKey(path, Key{Name: "ci"}, c.now()); err == nil || err.Error() != path+
		` has a key "ci" already: choose another name, or revoke that key` {
		t.Errorf("the name twice: %v", err)
	}
	config := filepath.Join(dir, "gateway.yaml")
	if err := os.WriteFile(config, []byte("access: {api_keys: gateway-keys.yaml}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	settings, err := load(config)
	if err != nil {
		t.Fatal(err)
	}
	changes := make(logged, 10)
	h := serving(t, settings, Options{Listen: ":0", now: c.now,
		Logger: slog.New(slog.NewTextHandler(changes, nil))})
	const want = `{"type":"session","id":"key:ci","auth":"api_key","claims":{"groups":["dev"]}}` +
		"\n"
	if got := posted(h, "/mcp", "Bearer "+first).Body.String(); got != want {
		t.Errorf("got %s want %s", got, want)
	}
	if got := posted(h, "/mcp", "Bearer "+first+"x").Code; got != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d", got)
	}
	c.pass(time.Hour)
	if got := posted(h, "/mcp", "Bearer "+short).Code; got != http.StatusUnauthorized {
		t.Errorf("an expired key: %d", got)
	}
	second := add(Key{Name: "second"})
	<-changes
	if err := RevokeKey(path, "ci"); err != nil {
		t.Fatal(err)
	}
	<-changes
	if got := posted(h, "/mcp", "Bearer "+first).Code; got != http.StatusUnauthorized {
		t.Errorf("a revoked key: %d", got)
	}
	if err := os.WriteFile(path, []byte("keys: [{name: x}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-changes
	if got := posted(h, "/mcp", "Bearer "+second).Code; got != http.StatusOK {
		t.Errorf("a key of the previous file: %d", got)
	}
	if err := RevokeKey(path, "none"); err == nil {
		t.Error("an invalid file was changed")
	}
}

// A file of keys that others can change, or with faults, is refused.
func TestKeys_ReportFaultsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	const text = `keys:
- {name: a b, hash: secret}
- {name: ci, hash: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, expires: soon}
- {name: ci, hash: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, claims: [1]}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := ReadKeys(path)
	if err == nil {
		t.Fatal("it was read")
	}
	golden.Compare(t, filepath.Join("testdata", "keys.faults"),
		strings.ReplaceAll(err.Error(), path, "keys.yaml")+"\n")
}

// A changed gateway.yaml is in effect without a restart. While it is invalid, the previous one
// stays in effect.
func TestOpen_FollowsTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gateway.yaml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	faults := &lines{}
	changed := make(chan struct{}, 10)
	write("gateway.yaml", "access: {api_keys: one.yaml, hosts: [tools.example.org]}\nservers: {default: {tools: [a]}}\n")
	write("one.yaml", "keys: []\n")
	write("two.yaml", "keys: []\n")
	key, err := AddKey(filepath.Join(dir, "two.yaml"), Key{Name: "ada"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(path, Options{Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(faults,
		nil)), Changed: func() { changed <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ids := routed(a.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(CallerFromContext(r.Context()).ID))
	})))
	if w := posted(ids, "/mcp", "Bearer "+key); w.Code != http.StatusUnauthorized {
		t.Errorf("before: %d", w.Code)
	}
	pages := a.Screen(http.NotFoundHandler())
	if w := posted(pages, "/", ""); w.Code != http.StatusNotFound {
		t.Errorf("screened: %d", w.Code)
	}
	write("gateway.yaml", "access: {api_keys: two.yaml, hosts: [tools.example.org]}\nprompts: [{name: p, description: d, "+
		"arguments: [a], messages: [x]}]\n")
	<-changed
	if w := posted(ids, "/mcp", "Bearer "+key); w.Body.String() != "key:ada" {
		t.Errorf("after: %d %s", w.Code, w.Body)
	}
	tools := []*toolspecs.Compiled{{Spec: toolspecs.Spec{Name: "b"}}}
	if all, err := a.Select("", api.Caller{}, tools); err != nil || len(all) != 1 ||
		!offers(a.Content(), "p") {
		t.Errorf("%d tools, %v", len(all), err)
	}
	write("gateway.yaml", "access: {api_keys: gone.yaml}\n")
	faults.wait(t, "gone.yaml")
	write("gateway.yaml", "limits: {burst: 3}\naccess: {api_keys: two.yaml}\n")
	<-changed
	if got := a.Settings().limits.Burst; got != 3 {
		t.Errorf("the burst is %d", got)
	}
	if _, err := Open(filepath.Join(dir, "none.yaml"), Options{}); err == nil {
		t.Error("a file that does not exist was opened")
	}
}

// offers reports whether a set has a prompt.
func offers(s *content.Set, prompt string) bool {
	_, err := s.Complete(&mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt",
		Name: prompt}, Argument: mcp.CompleteParamsArgument{Name: "a"}})
	return err == nil
}

// lines is a log that a test waits for.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) wait(t *testing.T, want string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		l.mu.Lock()
		text := l.text.String()
		l.mu.Unlock()
		if strings.Contains(text, want) {
			return
		}
	}
}

// Programs that add keys at the same time lose none.
func TestAddKey_KeepsKeysOfOtherPrograms(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if _, err := AddKey(path, Key{Name: fmt.Sprint("k", i)}, time.Now()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if list, err := ReadKeys(path); err != nil || len(list) != 20 {
		t.Errorf("%d keys, %v", len(list), err)
	}
}
