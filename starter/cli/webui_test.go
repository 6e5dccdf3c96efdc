package cli

import (
	"testing"

	"github.com/switchyard/switchyard/internal/connection"
)

// The default exists for local servers only.
func TestRunURL_UsesTheAddressOrTheDefault(t *testing.T) {
	t.Setenv(uiVariable, "")
	for _, c := range []struct {
		flags Connection
		want  string
	}{
		{Connection{ResolvedAddress: "127.0.0.1:7233"},
			"http://127.0.0.1:8233/namespaces/default/workflows/a%2Fb/r/history"},
		{Connection{ResolvedAddress: "localhost:7233"},
			"http://127.0.0.1:8233/namespaces/default/workflows/a%2Fb/r/history"},
		{Connection{ResolvedAddress: "localhost:9999"}, ""},
		{Connection{ResolvedAddress: "temporal.example:7233"}, ""},
		{Connection{ResolvedAddress: "127.0.0.1:7233",
			Flags: connection.Flags{Local: true}}, ""},
		{Connection{ResolvedAddress: "x:1", UI: "http://ui.example/"},
			"http://ui.example/namespaces/default/workflows/a%2Fb/r/history"},
	} {
		c.flags.ResolvedNamespace = "default"
		if got := c.flags.RunURL("a/b", "r"); got != c.want {
			t.Errorf("%+v: %q, want %q", c.flags, got, c.want)
		}
	}
}
