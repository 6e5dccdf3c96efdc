package mcp

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/toolspecs"
)

// answering serves one tool, whose result is that text.
func answering(t *testing.T, result string) *mcpBench {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		results := map[string]string{
			"initialize": `{"protocolVersion":"2025-06-18","capabilities":[],"serverInfo":[]}`,
			"tools/list": `{"tools":[{"name":"odd","inputSchema":{"type":"object"}}]}`,
			"tools/call": result}
		answer := `"error":{"code":-32601,"message":"no such method"}`
		if results[m.Method] != "" {
			answer = `"result":` + results[m.Method]
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + "," + answer + "}"))
	}))
	t.Cleanup(server.Close)
	return newMCPBench(t, toolspecs.MCPEntry{URL: server.URL, Allow: []string{"127.0.0.1"}}, Options{})
}

// A part that cannot be read is passed on as JSON with a note, in a file if it is large, and the
// others are the answer.
func TestMCPOddParts_KeepTheOthers(t *testing.T) {
	const note = `a part of the answer, of the type "json", cannot be read; it is passed on as JSON`
	b := answering(t, `{"content":[{"type":"text","text":"seen"},{"type":"json","json":{"n":1}}]}`)
	if got := b.mustCall(t, "odd", `{}`); string(got.Output) !=
		`"seen\n{\"type\":\"json\",\"json\":{\"n\":1}}"` || strings.Join(got.Notes, "|") != note {
		t.Errorf("got %s, %q", got.Output, got.Notes)
	}
	b = answering(t, `{"isError":"true","content":[{"type":"json","json":"out of cheese"}]}`)
	if _, err := b.call(t.Context(), "odd", `{}`); err == nil ||
		!strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("a failure is %v", err)
	}
	b = answering(t, `{"content":[{"type":"text","text":"seen"},{"type":"json","json":"`+
		strings.Repeat("x", 2*maxInline)+`"}]}`)
	got := b.mustCall(t, "odd", `{}`)
	var parts []struct{ Type, Text, MIMEType, Path string }
	if err := json.Unmarshal(got.Output, &parts); err != nil || len(parts) != 2 {
		t.Fatalf("got %s, %v", got.Output, err)
	}
	stored, err := os.ReadFile(parts[1].Path)
	if err != nil || parts[0].Text != "seen" || parts[1].MIMEType != "application/json" ||
		!json.Valid(stored) || strings.Join(got.Notes, "|") != note {
		t.Errorf("got %s, %q, %v", got.Output, got.Notes, err)
	}
}
