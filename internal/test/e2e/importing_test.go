package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// npmServers are the programs of the MCP servers that docs/mcp-tools.md starts with npx.
var npmServers = map[string]string{
	"@modelcontextprotocol/server-filesystem":          "mcp-server-filesystem",
	"@modelcontextprotocol/server-memory":              "mcp-server-memory",
	"@modelcontextprotocol/server-sequential-thinking": "mcp-server-sequential-thinking",
	"mcp-server-sqlite":                                "mcp-server-sqlite",
	"@modelcontextprotocol/server-everything":          "mcp-server-everything",
}

// installedNPX returns a folder with an npx that starts the installed programs instead of
// downloading packages.
func installedNPX(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\nshift\npackage=$1\nshift\ncase $package in\n"
	for name, program := range npmServers {
		script += fmt.Sprintf("%s) exec '%s' \"$@\" ;;\n", name, testserver.NPM(t, program))
	}
	script += "*) echo \"$package is not installed\" >&2; exit 1 ;;\nesac\n"
	if err := os.WriteFile(filepath.Join(dir, "npx"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// blocksBelow returns the code blocks of a section of a page, by language.
func blocksBelow(t *testing.T, page, heading string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n## "+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("%s has no section %s", page, heading)
	}
	blocks := map[string][]string{}
	parts := strings.Split(section, "```")
	for i := 1; i < len(parts); i += 2 {
		language, block, _ := strings.Cut(parts[i], "\n")
		blocks[language] = append(blocks[language], block)
	}
	return blocks
}

// TestImportingPage_RunsFiveServersFromNPM runs the files and the commands of docs/mcp-tools.md:
// from the configuration of an MCP client to the run of an agent.
func TestImportingPage_RunsFiveServersFromNPM(t *testing.T) {
	t.Parallel()
	if withoutCache() {
		t.Skip("the commands start their workers themselves, with the cache that they have by default")
	}
	dir := t.TempDir()
	path := strings.Join([]string{installedNPX(t), filepath.Dir(testserver.Bin(t, "starter")),
		os.Getenv("PATH")}, string(os.PathListSeparator))
	blocks := blocksBelow(t, "../../../docs/mcp-tools.md", "Servers of an MCP client")
	if len(blocks["json"]) != 1 || len(blocks["yaml"]) != 2 || len(blocks["sh"]) != 1 {
		t.Fatalf("the section has the blocks %q", blocks)
	}
	for name, text := range map[string]string{"agent.yaml": blocks["yaml"][0],
		"script.yaml": blocks["yaml"][1],
		"mcp.json":    strings.ReplaceAll(blocks["json"][0], "/tmp/", dir+"/")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+path, "OPENAI_API_KEY=", "USER=tester",
			"TEMPORAL_CONFIG_FILE="+filepath.Join(dir, "none.toml"),
			"XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	commands := strings.Split(strings.TrimSpace(blocks["sh"][0]), "\n")
	if len(commands) != 3 {
		t.Errorf("the page needs %d commands, want 3", len(commands))
	}
	out := ""
	for _, command := range commands {
		out = run(command)
	}
	want := "The sum of 2 and 3 is 5. After 1 thought, Ada is in three places.\n"
	if !strings.Contains(out, want) || strings.Contains(out, "tool_failed") {
		t.Errorf("the run printed:\n%s", out)
	}
	for _, file := range []string{"ada.txt", "memory.json", "notes.db"} {
		if data, err := os.ReadFile(filepath.Join(dir, file)); err != nil ||
			!strings.Contains(string(data), "likes tea") {
			t.Errorf("%s has %q: %v", file, data, err)
		}
	}
	if out := run(commands[0]); !strings.HasPrefix(lastLine(out), "0 tools written to tools, ") {
		t.Errorf("importing again writes files:\n%s", out)
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
