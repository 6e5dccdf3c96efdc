package operate

import (
	"bytes"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// The command that dev prints for another terminal reaches its server, and its Web UI if the
// address differs from the default.
func TestReadyHint_NamesTheServer(t *testing.T) {
	for _, c := range []struct{ address, ui, want string }{
		{"127.0.0.1:7233", cli.LocalUI, "starter call echo"},
		{"127.0.0.1:7233", "http://127.0.0.1:9000",
			"starter --ui-address http://127.0.0.1:9000 call echo"},
		{"127.0.0.1:7300", "http://127.0.0.1:8300",
			"starter --address 127.0.0.1:7300 --ui-address http://127.0.0.1:8300 call echo"},
	} {
		var out bytes.Buffer
		a := &cli.App{Stdio: cli.Stdio{Out: &out}}
		s := &devStack{serverReady: serverReady{Address: c.address, UI: c.ui, Namespace: "default"}}
		f := &devFlags{port: defaultPort}
		if !strings.HasSuffix(c.address, ":7233") {
			f.port = 7300
		}
		if err := tellReady(a, s, f); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "terminal: "+c.want) {
			t.Errorf("%s: want %q in\n%s", c.address, c.want, out.String())
		}
	}
}
