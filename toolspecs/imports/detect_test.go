package imports

import "testing"

func TestDetectKind_KnowsDocumentsByTheirContent(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"api.yaml", "openapi: 3.1.0\nservers: [{url: https://example.com}]\n", KindOpenAPI},
		{"api.json", `{"swagger": "2.0"}`, KindOpenAPI},
		{"mcp.json", "{\n  // servers\n  \"mcpServers\": {},\n}", KindMCPConfig},
		{"settings.json", `{"mcp": {"servers": {"a": {}}}}`, KindMCPConfig},
		{"tools/servers.yaml", "servers:\n  a: {argv: [a]}\n", KindMCPConfig},
		{"f.json", `[{"name": "a"}]`, KindFunctions},
		{"f.yaml", "tools:\n  - function: {name: a}\n", KindFunctions},
		{"f.json", `{"name": "a", "parameters": {}}`, KindFunctions},
		{"r", "# ours\n[[tool]]\nname = \"a\"\n", KindRegistry},
		{"page.html", "<!doctype html><html></html>", ""},
		{"empty", "", ""},
		{"other.yaml", "a: 1\n", ""},
	} {
		if got := DetectKind(tt.file, []byte(tt.text)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}
