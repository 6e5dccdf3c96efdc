//go:build unix

package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shownParts returns what the SDK reads of a result: the texts and bytes of its parts.
func shownParts(t *testing.T, result string) string {
	t.Helper()
	var read mcp.CallToolResult
	if err := json.Unmarshal(forwardResult(json.RawMessage(result)), &read); err != nil {
		return "error: " + err.Error()
	}
	var parts []string
	for _, c := range read.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			parts = append(parts, c.Text)
		case *mcp.ImageContent:
			parts = append(parts, fmt.Sprintf("image %x", c.Data))
		case *mcp.EmbeddedResource:
			parts = append(parts, fmt.Sprintf("resource %x%s", c.Resource.Blob, c.Resource.Text))
		default:
			parts = append(parts, fmt.Sprintf("%T", c))
		}
	}
	return strings.Join(parts, "|")
}

func TestResults_AreReadPartByPart(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"a"},{"type":"json","json":{"n":1}}]}`:                     `a|a part of the type "json": {"type":"json","json":{"n":1}}`,
		`{"content":[{"text":"a"},{"n":1}]}`:                                                          `a|a part of the type "": {"n":1}`,
		`{"content":{"type":"text","text":"a"}}`:                                                      "a",
		`{"content":"a"}`:                                                                             "a",
		`{"content":["a",7]}`:                                                                         "a|7",
		`{"content":[{"type":"image","mimeType":"image/png","data":"-_-_"}]}`:                         "image fbffbf",
		`{"content":[{"type":"image","mimeType":"image/png","data":"+/+/"}]}`:                         "image fbffbf",
		`{"content":[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"%"}]}`: `a|a part of the type "image" whose data is not base64`,
		`{"content":[{"type":"resource","resource":{"uri":"a:b","mimeType":"x/y","blob":"-_8"}}]}`:    "resource fbff",
		`{"content":[{"type":"resource","resource":{"uri":"a:b","text":"t"}}]}`:                       "resource t",
		`{"content":[{"type":"text","text":"a"},{"type":"resource","resource":"a:b"}]}`:               `a|a part of the type "resource": {"type":"resource","resource":"a:b"}`,
		`{"content":[{"type":"text","text":"a","annotations":[],"_meta":[]}],"_meta":[]}`:             "a",
		`{"content":null,"structuredContent":{"a":1}}`:                                                "",
		`{"content":[{"type":"resource_link","uri":"a:b","name":"n"}]}`:                               "*mcp.ResourceLink",
	} {
		if got := shownParts(t, result); got != want {
			t.Errorf("%s: %q, want %q", result, got, want)
		}
	}
}

// PHP encodes an empty object as an empty list.
func TestCapabilities_MayBeEmptyLists(t *testing.T) {
	for capabilities, want := range map[string]bool{`[]`: false, `{"tools":[]}`: true,
		`{"tools":{}}`: true, `{"tools":{"listChanged":true},"logging":[]}`: true} {
		result := `{"protocolVersion":"2025-06-18","capabilities":` + capabilities +
			`,"serverInfo":{"name":"php","version":"1"}}`
		var read mcp.InitializeResult
		err := json.Unmarshal(forwardResult(json.RawMessage(result)), &read)
		if err != nil || read.Capabilities == nil || (read.Capabilities.Tools != nil) != want {
			t.Errorf("%s: %+v, %v", capabilities, read.Capabilities, err)
		}
	}
}

func TestTools_MayHaveEmptyListsForObjects(t *testing.T) {
	result := `{"tools":[{"name":"a","inputSchema":[],"annotations":[],"_meta":[]},` +
		`{"name":"b","inputSchema":{"type":"object","required":[]}}]}`
	var read mcp.ListToolsResult
	err := json.Unmarshal(forwardResult(json.RawMessage(result)), &read)
	if err != nil || len(read.Tools) != 2 {
		t.Errorf("%+v, %v", read.Tools, err)
	}
}

func TestResponses_MayHaveTheirNumberAsText(t *testing.T) {
	m := message{method: "tools/call", id: json.RawMessage(`7`)}
	if got := string(m.answerIn([]byte(`{"jsonrpc":"2.0","id":"7","result":{}}`))); got !=
		`{"id":7,"jsonrpc":"2.0","result":{}}` {
		t.Errorf("over HTTP: %s", got)
	}
	text, err := jsonrpc.MakeID("7")
	if err != nil {
		t.Fatal(err)
	}
	number, err := jsonrpc.MakeID(float64(7))
	if err != nil {
		t.Fatal(err)
	}
	if got := numberID(text); got != number {
		t.Errorf("of a program: %v, want %v", got.Raw(), number.Raw())
	}
}

// Programs on Windows begin their output with a byte order mark.
func TestPrograms_MayBeginWithAByteOrderMark(t *testing.T) {
	mark := strings.Replace(looseServer, "answer() { printf '", "answer() { printf '\\357\\273\\277", 1)
	c, err := Connect(t.Context(), &Server{Argv: []string{"sh", "-c", mark, "sh", anyVersion,
		`{"tools":[]}`, `{"content":[{"type":"text","text":"fine"}]}`}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Call(t.Context(), Request{Tool: "x"}); err != nil {
		t.Error(err)
	}
}
