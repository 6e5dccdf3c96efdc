package imports

import (
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs"
)

// The configurations of every client give servers with references in place of secrets.
func TestMCPConfig_ReadsTheFormatsOfClients(t *testing.T) {
	for text, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "npx", "args": ["-y", "server", "${workspaceFolder}/notes"],
			"cwd": "${workspaceFolder}", "autoApprove": ["x"]}}}`: // Claude and Cursor
		`a {"type":"mcp","argv":["npx","-y","server","notes"],"dir":"."}`,
		`{"servers": {"a": {"type": "stdio", "command": "server",
			"env": {"KEY": "${input:api-key}", "MODE": "x", "HOST": "${env:HOST}"}}}, "inputs": []}`: // VS Code
		`a {"type":"mcp","argv":["server"],"env":["HOST"],"set_env":{"MODE":"x"},` +
			`"secrets":{"KEY":"env:API_KEY"}}`,
		`{"mcp": {"servers": {"a": {"url": "https://example.com/mcp",
			"headers": {"X-Tenant": "docs", "Authorization": "Bearer ${TOKEN:-none}"}}}}}`: `a {"type":"mcp","headers":{"X-Tenant":"docs"},"auth":{"type":"bearer","secret":"env:TOKEN"},` +
			`"url":"https://example.com/mcp"}`,
		`{"mcpServers": {"a": {"url": "https://example.com/mcp",
			"headers": {"X-API-Key": "sk-1234567"}}}}`: `a {"type":"mcp","auth":{"type":"header","secret":"env:A_TOKEN","name":"X-API-Key"},` +
			`"url":"https://example.com/mcp"} note: the value of the header X-API-Key is not copied: ` +
			`give it to the worker as the environment variable A_TOKEN`,
		`{"mcpServers": {"my server": {"command": "server run"}}}`: `my_server {"type":"mcp",` +
			`"argv":["server","run"]} note: its command is split at blanks into program and ` +
			`arguments note: it is called "my server" in the file`,
		`{"mcpServers": {"a": {"command": "s", "env": {"DB": "postgres://u:secret@host/db"}}}}`: `a ` +
			`{"type":"mcp","argv":["s"],"secrets":{"DB":"env:A_DB"}} note: the value of DB is not ` +
			`copied: give it to the worker as the environment variable A_DB`,
		`{"mcpServers": {"a": {"httpUrl": "https://example.com/mcp"}}}`:// Gemini CLI
		`a {"type":"mcp","url":"https://example.com/mcp"}`,
		`{"mcpServers": {"a": {"command": "s", "args": "-y"}}}`:       `a {"type":"mcp"} problem: its declaration has args with a value of the wrong type, string`,
		`{"mcpServers": {"a": {"command": "s", "args": ["-p", 80]}}}`: `a {"type":"mcp"} problem: its declaration has args with a value of the wrong type, number`,
		`{"mcpServers": {"a": {"command": "s", "env": ["A=b"]}}}`:     `a {"type":"mcp"} problem: its declaration has env with a value of the wrong type, array`,
		`{"mcpServers": {"a": {"url": "https://example.com", "headers": {"X": 1}}}}`: `a ` +
			`{"type":"mcp"} problem: its declaration has headers with a value of the wrong type, number`,
		`{"mcpServers": {"a": {"url": ["https://example.com"]}}}`: `a {"type":"mcp"} problem: its declaration has url with a value of the wrong type, array`,
		`{"mcpServers": {"a": {"args": []}}}`: `a {"type":"mcp"} problem: it has neither command ` +
			`nor url`,
		`{"mcpServers": {"a": {"command": "s", "env": {"A": "x-${B}"}}}}`: `a {"type":"mcp",` +
			`"argv":["s"]} problem: the value of A has a variable within a text; write the value itself`,
		`{"mcpServers": {"a": {"url": "https://example.com", "headers": {"Authorization": "Basic x"}}}}`: `a ` +
			`{"type":"mcp","url":"https://example.com"} problem: its header Authorization is not a ` +
			`bearer token; import the server by its URL with --auth`,
		`{"mcpServers": {"a": [1]}}`: `a {"type":"mcp"} problem: its declaration is not an object`,
	} {
		list, err := MCPConfig("mcp.json", []byte(text))
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", text, list, err)
			continue
		}
		entry, err := jsonvalue.Encode(toolspecs.Entry{Kind: list[0].Entry})
		if err != nil {
			t.Fatal(err)
		}
		got := list[0].Name + " " + string(entry)
		for _, note := range list[0].Notes {
			got += " note: " + note
		}
		if list[0].Problem != "" {
			got += " problem: " + list[0].Problem
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		`{}`: `mcp.json: the document configures no MCP servers (write {"mcpServers": {"name": {"command": "program", "args": []}}})`,
		"{\"mcpServers\": {\n  // a comment\n  \"a\": {\"command\": }\n}}": "mcp.json: this is not JSON: line 3, column 20: invalid character '}' at start of value",
	} {
		if _, err := MCPConfig("mcp.json", []byte(text)); err == nil ||
			fmt.Sprint(err) != want {
			t.Errorf("%s: got %v, not %s", text, err, want)
		}
	}
}

// Values of variables and headers whose names are those of secrets are not in the entry.
func TestMCPConfig_CopiesNoSecrets(t *testing.T) {
	const secret = "hunter2-hunter2"
	for name := range strings.FieldsSeq(`OPENAI_KEY STRIPE_KEY SUPABASE_SERVICE_ROLE_KEY DB_PASS
		MYSQL_PASS PGPASS JWT api_key`) {
		s := oneServer(t, `{"command": "s", "env": {"`+name+`": "`+secret+`"}}`)
		variable := "A_" + strings.ToUpper(name)
		if s.Entry.Secrets[name] != "env:"+variable || len(s.Entry.SetEnv) > 0 ||
			s.Literals[variable] != secret {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name := range strings.FieldsSeq("X-Auth X-Service-Key Cookie") {
		s := oneServer(t, `{"url": "https://example.com", "headers": {"`+name+`": "`+secret+`"}}`)
		if s.Entry.Auth == nil || strings.Contains(string(s.Entry.Headers), secret) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Secrets in arguments and addresses cannot be replaced by references.
func TestMCPConfig_RefusesSecretsInArgumentsAndAddresses(t *testing.T) {
	const secret = " looks secret; give it to the program by an environment variable in env, or to the server by a header in headers"
	for text, element := range map[string]string{
		`{"command": "s", "args": ["postgres://u:hunter2@host/db"]}`:                   "a password in its argument 1" + secret,
		`{"command": "s", "args": ["--header", "Authorization: Bearer hunter2"]}`:      "the value of Authorization in its argument 2" + secret,
		`{"command": "s", "args": ["--header", "X-API-Key:hunter2"]}`:                  "the value of X-API-Key in its argument 2" + secret,
		`{"command": "s", "args": ["--api-key", "hunter2"]}`:                           "the value of --api-key" + secret,
		`{"command": "s", "args": ["--access-token=hunter2"]}`:                         "the value of access-token in its argument 1" + secret,
		`{"command": "docker", "args": ["run", "-e", "DB_PASSWORD=hunter2", "image"]}`: "the value of DB_PASSWORD in its argument 3" + secret,
		`{"command": "s", "args": ["https://example.com/?a=b&api_key=hunter2"]}`:       "the query parameter api_key in its argument 1" + secret,
		`{"command": "s --token hunter2"}`:                                             "the value of --token" + secret,
		`{"url": "https://u:hunter2@example.com/mcp"}`:                                 "a password in its url looks secret; give it to the server by a header in headers",
		`{"url": "https://example.com/mcp?token=hunter2"}`:                             "the query parameter token in its url looks secret; give it to the server by a header in headers",
	} {
		s := oneServer(t, text)
		entry, err := jsonvalue.Encode(s.Entry)
		if err != nil {
			t.Fatal(err)
		}
		if s.Problem != element || strings.Contains(s.Problem+string(entry),
			"hunter2") {
			t.Errorf("%s: problem %q, %s", text, s.Problem, entry)
		}
	}
	for _, text := range []string{
		`{"command": "s", "args": ["--key-file", "a.pem", "--token", "--verbose", "-e", "API_KEY"]}`,
		`{"command": "s", "args": ["C:\\\\key", "https://example.com/?a=b", "--port=80"]}`,
		`{"url": "https://example.com/mcp?tenant=a"}`,
	} {
		if s := oneServer(t, text); s.Problem != "" {
			t.Errorf("%s: %s", text, s.Problem)
		}
	}
}

// No two servers refer to one variable for their secrets, whatever their names.
func TestMCPConfig_SeparatesTheSecretsOfServers(t *testing.T) {
	list, err := MCPConfig("mcp.json", []byte(`{"mcpServers": {
		"a": {"command": "s", "env": {"TOKEN": "one", "B_TOKEN": "x"}},
		"a_b": {"command": "s", "env": {"TOKEN": "two"}},
		"github": {"command": "s", "env": {"GITHUB_TOKEN": "three", "C_TOKEN": "${A_TOKEN}"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, s := range list {
		got += fmt.Sprintln(s.Name, s.Entry.Secrets, s.Literals)
	}
	want := `a map[B_TOKEN:env:A_B_TOKEN TOKEN:env:A_TOKEN_2] map[A_B_TOKEN:x A_TOKEN_2:one]
a_b map[TOKEN:env:A_B_TOKEN_2] map[A_B_TOKEN_2:two]
github map[C_TOKEN:env:A_TOKEN GITHUB_TOKEN:env:GITHUB_TOKEN] map[GITHUB_TOKEN:three]
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func oneServer(t *testing.T, declaration string) ConfiguredServer {
	t.Helper()
	list, err := MCPConfig("mcp.json", []byte(`{"mcpServers": {"a": `+declaration+`}}`))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// Servers are added to a file, and what people wrote in it stays.
func TestServersYAML_KeepsWhatIsThere(t *testing.T) {
	list, err := MCPConfig("mcp.json", []byte(
		`{"mcpServers": {"a": {"command": "other"}, "b": {"command": "server"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	old := "servers:\n  # Ours.\n  a:\n    argv: [mine]\n    session: run # one for each run\n"
	data, added, err := ServersYAML([]byte(old), list)
	if want := old + "  b:\n    argv: [server]\n"; err != nil || string(data) != want ||
		len(added) != 1 {
		t.Errorf("added %v, %v:\n%s", added, err, data)
	}
	again, added, err := ServersYAML(data, list)
	if err != nil || len(added) > 0 || string(again) != string(data) {
		t.Errorf("again added %v, %v:\n%s", added, err, again)
	}
	if _, _, err := ServersYAML([]byte("servers: [1]\n"), list); err == nil {
		t.Error("a file without a mapping is written")
	}
}
