//go:build unix

package catalog

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchyard/switchyard/toolspecs"
)

// slowServer is a server program without tools that starts when the file of its argument exists.
const slowServer = `
while [ ! -e "$1" ]; do sleep 0.01; done
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18",
    "capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}' ;;
  *) result='{"tools":[]}' ;;
  esac
  [ -n "$id" ] && echo '{"jsonrpc":"2.0","id":'"$id"',"result":'$result'}'
done`

// Starter waits for a program that installs its server first, and prints that it waits.
func TestMCPServers_TellThatAProgramStartsSlowly(t *testing.T) {
	installed := filepath.Join(t.TempDir(), "installed")
	var told []string
	s := mcpServers{ctx: t.Context(), quiet: time.Millisecond, note: func(text string) {
		told = append(told, text)
		if err := os.WriteFile(installed, nil, 0o600); err != nil {
			t.Error(err)
		}
	}}
	defer s.close()
	_, err := s.tools(toolspecs.MCPEntry{Argv: []string{"sh", "-c", slowServer, "sh", installed}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "waiting up to 5 min for sh, which may install the server first"
	if len(told) != 1 || told[0] != want {
		t.Errorf("told %q, want %q", told, want)
	}
}
