package operate

import (
	"slices"
	"strconv"
	"testing"

	"github.com/spf13/pflag"
)

// The gateway of dev takes the links that its worker sends, and starts with the tools that the
// worker has.
func TestDev_GivesTheGatewayWhatTheWorkerHas(t *testing.T) {
	var f devFlags
	f.webhook.register(pflag.NewFlagSet("dev", pflag.ContinueOnError))
	for _, flag := range []string{"--approval-link-key", "--skip-invalid"} {
		if slices.Contains(f.gatewayArgs(serverReady{}, nil), flag) {
			t.Errorf("%s is passed on without a value", flag)
		}
	}
	*f.webhook["approval-link-key"], f.skipInvalid = "env:LINK_KEY", true
	args := f.gatewayArgs(serverReady{}, nil)
	at := slices.Index(args, "--approval-link-key")
	if at < 0 || args[at+1] != "env:LINK_KEY" || !slices.Contains(args, "--skip-invalid") {
		t.Errorf("the gateway gets %q", args)
	}
}

// Links that decide lead to the console that dev serves, unless another one is named.
func TestDev_LinksToItsOwnConsole(t *testing.T) {
	for _, c := range []struct {
		key, console string
		gateway      bool
		port         int
		want         string
	}{
		{"", "", true, 8090, ""},
		{"env:KEY", "", true, 8090, "http://127.0.0.1:8090"},
		{"env:KEY", "https://tools.example.org", true, 8090, "https://tools.example.org"},
		{"env:KEY", "", false, 8090, ""},
		{"env:KEY", "", true, 0, "http://127.0.0.1:"},
	} {
		f := devFlags{gateway: c.gateway, gatewayPort: c.port}
		f.webhook.register(pflag.NewFlagSet("dev", pflag.ContinueOnError))
		*f.webhook["approval-link-key"], *f.webhook["console-url"] = c.key, c.console
		if err := f.linkToGateway(); err != nil {
			t.Fatal(err)
		}
		want := c.want
		if c.port == 0 {
			want += strconv.Itoa(f.gatewayPort)
		}
		if got := *f.webhook["console-url"]; got != want || c.port == 0 && f.gatewayPort == 0 {
			t.Errorf("%+v: %s at port %d", c, got, f.gatewayPort)
		}
	}
}
