//go:build unix

package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// nested returns lists that nest n deep.
func nested(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }

// deepList is a list of tools of which one has a schema that the SDK does not read. Brackets in
// texts are no nesting.
func deepList() string {
	return `{"tools":[{"name":"first","description":"[[{","inputSchema":{"type":"object"}},` +
		`{"name":"deep","inputSchema":{"type":"object","x":` + nested(20_000) + `,"y":"]"}},` +
		`{"name":"deep_result","inputSchema":{"type":"object"},"outputSchema":` +
		nested(maxSchemaNesting+1) + `},` +
		`{"name":"deep_meta","inputSchema":{"type":"object"},"_meta":{"x":` + nested(2000) + `}},` +
		`{"name":"legal","inputSchema":{"type":"object","x":` + nested(maxSchemaNesting-1) + `}}]}`
}

const deepReason = "a schema of the tool nests more than 996 levels deep; correct the server"

// checkDeepList expects the tools of deepList, of which two are unusable.
func checkDeepList(t *testing.T, c *Connection) {
	t.Helper()
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range tools {
		got = append(got, tool.Name+": "+tool.Unusable())
	}
	want := []string{"first: ", "deep: " + deepReason, "deep_result: " + deepReason, "deep_meta: ",
		"legal: "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if tools[0].Description != "[[{" {
		t.Errorf("the first tool is described as %q", tools[0].Description)
	}
	_, _, err = c.Tool(t.Context(), "deep")
	wrong := fmt.Sprintf("precondition_failed: the tool \"deep\" of the MCP server %s cannot be "+
		"called: %s", c.name, deepReason)
	if err == nil || err.Error() != wrong {
		t.Errorf("got %v, not %s", err, wrong)
	}
}

func TestTools_KeepsThoseBesideASchemaThatNestsTooDeep(t *testing.T) {
	t.Run("stdio", func(t *testing.T) {
		c, err := connectLoose(t, anyVersion, deepList(), `{}`)
		if err != nil {
			t.Fatal(err)
		}
		checkDeepList(t, c)
	})
	for _, kind := range []string{"application/json", eventStream} {
		t.Run(kind, func(t *testing.T) { checkDeepList(t, connectDeep(t, kind)) })
	}
}

// connectDeep connects to a server over HTTP that lists deepList, in bodies of the content type.
func connectDeep(t *testing.T, contentType string) *Connection {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,`, request.ID)
		switch request.Method {
		case "initialize":
			answer += `"result":{"protocolVersion":"` + anyVersion + `","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"deep","version":"1"}}}`
		case "tools/list":
			answer += `"result":` + deepList() + `}`
		default:
			answer += `"error":{"code":-32601,"message":"no such method"}}`
		}
		w.Header().Set("Content-Type", contentType)
		if contentType == eventStream {
			answer = "data: " + answer + "\n\n"
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return connect(t, &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}, Options{})
}
