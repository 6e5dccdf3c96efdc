//go:build unix

package mcpclient

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// looseServer is a server program that answers with its arguments: the protocol's version, and the
// results of tools/list and tools/call.
const looseServer = `
rest='"capabilities":{"tools":{}},"serverInfo":{"name":"loose","version":"1"}}'
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"initialize"'*) answer '"result":{"protocolVersion":"'"$1"'",'"$rest" ;;
  *'"method":"tools/list"'*) answer '"result":'"$2" ;;
  *'"method":"tools/call"'*) answer '"result":'"$3" ;;
  *'"id":'*) answer '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done`

func connectLoose(t *testing.T, version, list, result string) (*Connection, error) {
	t.Helper()
	c, err := Connect(t.Context(), &Server{Argv: []string{"sh", "-c", looseServer, "sh", version,
		list, result}}, Options{})
	if err == nil {
		t.Cleanup(c.Close)
	}
	return c, err
}

const anyVersion = "2025-06-18"

// A result that could be read in two ways, or not at all, fails its call and nothing else.
func TestCall_RejectsResultsThatCannotBeReadWithoutDoubt(t *testing.T) {
	for result, want := range map[string]string{
		`null`: "answered with the result null",
		`{"content":[{"type":"text","text":"a","text":"b"}]}`:    `answered with a result that cannot be read without doubt: the key "text" is given twice, at byte 71`,
		`{"content":[],"structuredContent":{"n":{"a":1,"a":2}}}`: `answered with a result that cannot be read without doubt: the key "a" is given twice, at byte 79`,
		`{"content":[],"content":[]}`:                            `answered with a result that cannot be read without doubt: the key "content" is given twice, at byte 47`,
		`{"content":[{"type":"text","text":"fine"}]}`:            "",
		`{"content":[],"structuredContent":null}`:                "",
	} {
		c, err := connectLoose(t, anyVersion, `{"tools":[]}`, result)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Call(t.Context(), Request{Tool: "x"})
		fault, isFault := errors.AsType[*Fault](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: got %v", result, err)
		case want != "" && (!isFault || fault.Reason != want):
			t.Errorf("%s: got %v, not a fault with %q", result, err, want)
		case c.Err() != nil:
			t.Errorf("%s: the connection ended: %v", result, c.Err())
		}
	}
}

// A name that stands for different tools cannot be called; one that is only repeated can.
func TestTool_RejectsDifferentToolsOfOneName(t *testing.T) {
	const same = `{"name":"b","description":"Same.","inputSchema":{"type":"object"}}`
	c, err := connectLoose(t, anyVersion, `{"tools":[`+
		`{"name":"a","description":"First.","inputSchema":{"type":"object"}},`+same+`,`+
		`{"name":"a","description":"Second.","inputSchema":{"type":"object"}},`+same+`]}`, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := c.Tools(t.Context())
	if err != nil || len(listed) != 2 || !listed[0].Ambiguous || listed[1].Ambiguous {
		t.Errorf("listed %v, %v", listed, err)
	}
	if _, found, err := c.Tool(t.Context(), "b"); err != nil || !found {
		t.Errorf("got %t, %v for b", found, err)
	}
	_, _, err = c.Tool(t.Context(), "a")
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Type != api.ErrPreconditionFailed {
		t.Errorf("got %v for a", err)
	}
}

// What keeps a server from being used is named, not how its program ended afterwards.
func TestConnect_NamesTheCause(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 1200) + "1" + strings.Repeat("}", 1200)
	for _, test := range []struct{ version, list, want string }{
		{"1999-01-01", `{"tools":[]}`, `precondition_failed: there is no connection to the MCP server sh: unsupported protocol version: "1999-01-01"; update the server`},
		{anyVersion, `{"tools":[],"other":` + deep + `}`,
			"the connection to the MCP server was lost during tools/list: the MCP server sent a message whose values nest more than 1000 deep"},
	} {
		c, err := connectLoose(t, test.version, test.list, `{}`)
		if err == nil {
			_, err = c.Tools(context.Background())
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("got %v, not %q", err, test.want)
		}
	}
}
