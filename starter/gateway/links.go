package gateway

import (
	"log/slog"
	"net/http"

	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/links"
	"github.com/switchyard/switchyard/gateway/login"
	"github.com/switchyard/switchyard/internal/approvallink"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// links returns the pages of signed links; nil without a key.
func (o *options) links(a *cli.App, c client.Client, guard *access.Access) (http.Handler, error) {
	if o.linkKey == "" {
		return nil, nil
	}
	key, err := approvallink.ReadKey(o.linkKey)
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "--approval-link-key: %w", err)
	}
	return guard.Screen(login.Headers(links.New(links.Config{Key: key,
		Runs: links.ClientRuns{Client: o.sessions(a, c).Client}, Audit: auditLog(a),
		Enter: guard.Enter}))), nil
}

// auditLog gets what people do in a browser.
func auditLog(a *cli.App) *slog.Logger {
	return slog.New(slog.NewTextHandler(a.Err, nil))
}
