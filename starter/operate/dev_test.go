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

func TestReady_NamesAFewTools(t *testing.T) {
	for n, want := range map[int]string{0: "", 2: "a, b", 6: "a, b, c, d, e, f",
		8: "a, b, c, d, e, f and 2 more"} {
		if got := nameSome(strings.Split("abcdefgh", "")[:n]); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// Edits of toolspecs are printed, valid or not.
func TestReloads_AreTold(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":"tool_updated","tool":"a","version":"1.1.0","file":"tools/a.yaml"}`: "starter: the " +
			"tool a 1.1.0 is reloaded (tools/a.yaml)\n",
		`{"event":"tool_removed","tool":"a","version":"1.1.0","file":"tools/a.yaml"}`: "starter: the " +
			"tool a 1.1.0 is removed (tools/a.yaml)\n",
		`{"event":"load_error","file":"tools/a.yaml","error":"tools/a.yaml:1:1: no name"}`: "starter: " +
			"tools/a.yaml is not in effect; what was valid stays:\ntools/a.yaml:1:1: no name\n",
		`{"event":"other"}`: "", `x`: "",
	} {
		var out bytes.Buffer
		(&devStack{reloads: &out}).tellReload([]byte(line))
		(&devStack{}).tellReload([]byte(line))
		if out.String() != want {
			t.Errorf("%s: %q, want %q", line, out.String(), want)
		}
	}
}
