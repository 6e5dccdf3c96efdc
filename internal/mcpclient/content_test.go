//go:build unix

package mcpclient

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

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
			if kind, odd := Unreadable(c); odd {
				parts = append(parts, "unreadable "+kind)
			}
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

// quirk is what a server was seen to send, or something of the same kind.
type quirk struct {
	// Case names the report that it comes from, if it has one.
	Case string `json:"case"`
	// Sent is the result, the message or the server's answers, Read what a client makes of it.
	Sent json.RawMessage `json:"sent"`
	Read string          `json:"read"`
}

func readQuirks(t *testing.T, name string) []quirk {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var quirks []quirk
	if err := json.Unmarshal(data, &quirks); err != nil {
		t.Fatal(err)
	}
	return quirks
}

func TestResults_AreReadPartByPart(t *testing.T) {
	for _, q := range readQuirks(t, "results.json") {
		if got := shownParts(t, string(q.Sent)); got != q.Read {
			t.Errorf("%s: %q, want %q", q.Sent, got, q.Read)
		}
	}
}

// PHP encodes an empty object as an empty list.
func TestCapabilities_MayBeEmptyLists(t *testing.T) {
	for capabilities, want := range map[string]bool{`[]`: false, `{"tools":[]}`: true,
		`{"tools":{}}`: true, `{"tools":{"listChanged":true},"logging":[]}`: true,
		`{"tools":{},"experimental":[],"extensions":[],"tasks":{"requests":[]}}`: true} {
		result := `{"protocolVersion":"2025-06-18","capabilities":` + capabilities +
			`,"serverInfo":[],"_meta":[]}`
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

func TestMessages_AreReadInTheFormOfTheProtocol(t *testing.T) {
	for _, q := range readQuirks(t, "messages.json") {
		if got := string(normalizeMessage(q.Sent)); got != q.Read {
			t.Errorf("%s: %s, want %s", q.Sent, got, q.Read)
		}
	}
}

// What cannot be read of a server's handshake or result is named, whatever ends afterwards.
func TestFaults_NameTheFieldThatCannotBeRead(t *testing.T) {
	const list, result = `{"tools":[]}`, `{"content":[]}`
	const unreadable = " the MCP server answered with a result that cannot be read: the field "
	for want, answers := range map[string][3]string{
		"on initialize" + unreadable + "serverInfo.version is a number": {
			`{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"q","version":7}}`,
			list, result},
		"on initialize" + unreadable + "capabilities.tools is a list": {
			`{"protocolVersion":"2025-06-18","capabilities":{"tools":["x"]}}`, list, result},
		"on initialize" + unreadable + "capabilities is a text": {
			`{"protocolVersion":"2025-06-18","capabilities":"none"}`, list, result},
		"on initialize" + unreadable + "protocolVersion is a number": {
			`{"protocolVersion":20250618}`, list, result},
		"on initialize" + unreadable + "instructions is an object": {
			`{"protocolVersion":"2025-06-18","instructions":{}}`, list, result},
		"on tools/list" + unreadable + "tools is a text": {goodHandshake, `{"tools":"none"}`, result},
		"on tools/call" + unreadable + "isError is a text": {goodHandshake, list,
			`{"isError":"perhaps"}`},
	} {
		c, err := Connect(t.Context(), &Server{Argv: []string{"sh", "-c", strings.Replace(looseServer,
			`"result":{"protocolVersion":"'"$1"'",'"$rest"`, `"result":'"$1"`, 1), "sh", answers[0],
			answers[1], answers[2]}}, Options{})
		if err == nil {
			if _, err = c.Tools(t.Context()); err == nil {
				_, err = c.Call(t.Context(), Request{Tool: "x"})
			}
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

const goodHandshake = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
	`"serverInfo":{"name":"q","version":"1"}}`

// A tool that cannot be read is listed as one that cannot be called, and harms no other tool.
func TestTools_AreReadOneByOne(t *testing.T) {
	c, err := connectLoose(t, anyVersion, `{"tools":[null,7,{"name":7},{"name":"a","icons":{},`+
		`"annotations":{"readOnlyHint":"yes"},"_meta":"x","title":1,"description":[]},`+
		`{"name":"b","inputSchema":[]}],"nextCursor":false}`, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range tools {
		got = append(got, fmt.Sprintf("%s %t", tool.Name, tool.Unusable() == ""))
	}
	if want := `null false, 7 false, {"name":7} false, a true, b true`; strings.Join(got,
		", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
}

// A stream of events may begin with a byte order mark.
func TestEvents_MayBeginWithAByteOrderMark(t *testing.T) {
	body := "\uFEFFdata: {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":[]}\n\n"
	b := &eventBody{lines: bufio.NewReader(strings.NewReader(body)), m: message{method: "ping",
		id: json.RawMessage(`7`)}, x: &exchange{}, w: &wire{limit: 1000,
		hide: func(text []byte) []byte { return text }}}
	got, err := io.ReadAll(b)
	if want := "data:{\"id\":7,\"jsonrpc\":\"2.0\",\"result\":{}}\n\n"; err != nil ||
		string(got) != want {
		t.Errorf("got %q, %v", got, err)
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
