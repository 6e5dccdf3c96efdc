package operate

import (
	"slices"
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
