package operate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// fakeGateway answers as a gateway does, but for what a test changes.
type fakeGateway struct {
	notReady, anyOrigin, needsKey, forgets bool
}

func (f fakeGateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/readyz" && f.notReady:
		http.Error(w, "not ready: the Temporal server does not answer",
			http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/readyz":
		return
	case r.Header.Get("Origin") != "" && !f.anyOrigin:
		http.Error(w, "no", http.StatusForbidden)
		return
	case f.needsKey && r.Header.Get("Authorization") != "Bearer right":
		http.Error(w, "no", http.StatusUnauthorized)
		return
	}
	var request struct{ Method string }
	_ = json.NewDecoder(r.Body).Decode(&request)
	if request.Method == "initialize" {
		w.Header().Set("Mcp-Session-Id", "one")
		fmt.Fprint(w, "event: message\ndata: {\"result\":{}}\n\n")
		return
	}
	if f.forgets {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	fmt.Fprint(w, `{"result":{"tools":[{},{}]}}`)
}

func TestDoctor_ChecksGatewaysFromOutside(t *testing.T) {
	const refuses = "✓ requests of foreign web pages are refused"
	tests := []struct {
		name    string
		gateway fakeGateway
		key     string
		want    []string
		failed  bool
	}{
		{"open on loopback", fakeGateway{}, "", []string{"✓ the gateway at BASE is ready",
			"✓ connections to HOST are encrypted or local", refuses,
			"✓ BASE/mcp needs no authentication and is reached from this machine only",
			"✓ a client gets 2 tools"}, false},
		{"a key is needed and missing", fakeGateway{needsKey: true}, "",
			[]string{"✓ the gateway at BASE is ready",
				"✓ connections to HOST are encrypted or local", refuses, "✓ BASE/mcp refuses " +
					"clients without credentials and names no issuer: clients need an API key"},
			false},
		{"the key is wrong", fakeGateway{needsKey: true}, "wrong",
			[]string{"✓ the gateway at BASE is ready",
				"✓ connections to HOST are encrypted or local", refuses,
				"✓ BASE/mcp refuses clients without credentials and names no issuer: clients " +
					"need an API key", "✗ a client cannot connect to " +
					"BASE/mcp: it answers 401: no", "  → check the key in SWITCHYARD_API_KEY"},
			true},
		{"Temporal is away", fakeGateway{notReady: true}, "", []string{"✗ the gateway at BASE " +
			"is not ready: it answers 503: not ready: the Temporal server does not answer",
			"  → check its Temporal server"}, true},
		{"foreign pages are admitted", fakeGateway{anyOrigin: true}, "",
			[]string{"✓ the gateway at BASE is ready",
				"✓ connections to HOST are encrypted or local",
				"✗ a request of a foreign web page is answered with 200",
				"  → remove the proxy that drops the header Origin",
				"✓ BASE/mcp needs no authentication and is reached from this machine only",
				"✓ a client gets 2 tools"}, true},
		{"sessions are lost", fakeGateway{forgets: true}, "",
			[]string{"✓ the gateway at BASE is ready",
				"✓ connections to HOST are encrypted or local", refuses,
				"✓ BASE/mcp needs no authentication and is reached from this machine only",
				"✗ BASE/mcp does not list its tools: it answers 404: no such session"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(clientKeyVariable, tt.key)
			server := httptest.NewServer(tt.gateway)
			defer server.Close()
			var out bytes.Buffer
			a := &cli.App{Stdio: cli.Stdio{Out: &out, Err: &out}}
			err := checkGateways(t.Context(), a, []string{server.URL + "/mcp"})
			host := strings.TrimPrefix(server.URL, "http://")
			want := strings.NewReplacer("BASE", server.URL, "HOST", host).Replace(
				strings.Join(tt.want, "\n") + "\n")
			if out.String() != want || (err != nil) != tt.failed {
				t.Errorf("got %v and\n%s, want\n%s", err, out.String(), want)
			}
		})
	}
}
