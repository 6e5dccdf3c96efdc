package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// People log in to the console, as a public client, at an OpenID provider that others have written.
// They have the roles of their claims.
func TestConsole_LogsPeopleInAtAnOpenIDProvider(t *testing.T) {
	node, packages := testserver.NPM(t, "node"), testserver.NPM(t, "../node_modules")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	var provider struct{ Issuer string }
	testserver.Start(t, &provider, []string{"NODE_PATH=" + packages}, node, "testdata/openid.mjs",
		"http://"+address+"/console/callback")
	g := newGatewayLab(t, fmt.Sprintf(`  issuers: [{issuer: %[1]q}]
  claims: [groups]
  roles:
    viewer: [{claims: {groups: [staff]}}]
    approver: [{claims: {groups: [finance]}}]
public_url: http://%[2]s
console:
  login: {issuer: %[1]q, client_id: console, scopes: [groups]}
`, provider.Issuer, address))
	g.serve()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	r := g.replica("--direct", "100ms", "--wait", "100ms", "--console", "--listen", address)
	asking := g.older(r.Endpoint, g.apiKey("olga"), "demo")
	if pending := must(t)(asking.call(g.ctx, "publish", arguments("text", "news"),
		nil)); pending.Result == nil {
		t.Fatalf("the call: %s", pending.body)
	}
	for who, decides := range map[string]bool{"ada": true, "bob": false} {
		p := g.loggedIn("http://"+address+"/console/", who)
		_, inbox := p.get("inbox")
		if !strings.Contains(inbox, "Publish news?") {
			t.Errorf("the inbox of %s does not have the call:\n%s", who, inbox)
		}
		if strings.Contains(inbox, `value="approve"`) != decides {
			t.Errorf("%s may decide: %v, want %v", who, !decides, decides)
		}
	}
	log, err := os.ReadFile(r.Log)
	g.must(err)
	for _, want := range []string{"msg=login by=ada method=oidc roles=[approver]",
		"msg=login by=bob method=oidc roles=[viewer]"} {
		if !strings.Contains(string(log), want) {
			t.Errorf("the gateway does not log %q", want)
		}
	}
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]+)"`)

// loggedIn logs a person in on the pages of the provider.
func (g *gatewayLab) loggedIn(console, name string) *person {
	g.t.Helper()
	p := g.visitor(console)
	_, page := p.get("login/oidc?return=%2Fconsole%2Finbox")
	for _, form := range []url.Values{
		{"prompt": {"login"}, "login": {name}, "password": {"any"}},
		{"prompt": {"consent"}},
	} {
		action := formAction.FindStringSubmatch(page)
		if action == nil {
			g.t.Fatalf("the provider has no form: %s", page)
		}
		at := &person{g: g, http: p.http, base: action[1]}
		_, page = at.send(http.MethodPost, "", form)
	}
	return p
}
