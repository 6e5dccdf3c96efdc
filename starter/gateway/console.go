package gateway

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/console"
	"github.com/switchyard/switchyard/gateway/login"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// pages are the console of a gateway and the login in front of it.
type pages struct {
	login   *login.Login
	handler http.Handler
}

func (p *pages) close() {
	if p.login != nil {
		p.login.Close()
	}
}

// people returns the pages that --console asks for; without a handler if it does not.
func (o *options) people(a *cli.App, s served, guard *access.Access) (*pages, error) {
	if !o.pages {
		return &pages{}, nil
	}
	local := ""
	if !guard.Settings().Authenticates() {
		if !o.noLogin {
			return nil, cli.Errorf(cli.ExitUsage, "--console needs to know who decides: set "+
				"access.api_keys or access.issuers in the file of --config\nOnly starter dev "+
				"serves the pages without a login")
		}
		local = localName()
	}
	l, err := login.New(login.Config{Access: guard, Local: local,
		Key: []byte(os.Getenv(stateKeyVariable)), Audit: auditLog(a)})
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "--console: %w", err)
	}
	own := switchyard.Options{Namespace: a.Connection.ResolvedNamespace, TaskQueue: o.queue,
		Storage: a.Connection.Opened}
	shown, err := console.New(console.Config{Client: switchyard.NewClient(s.client, own),
		Catalog: s.catalog, Principal: principal, Workers: o.workers(a, s.client),
		TaskQueue:  o.queue,
		TemporalUI: temporalUI(a), Version: buildinfo.Read().Version, Logger: s.log,
		Audit: auditLog(a)})
	if err != nil {
		l.Close()
		return nil, err
	}
	return &pages{login: l, handler: guard.Screen(l.Middleware(shown))}, nil
}

// workers returns a function that asks the workers for their tools.
func (o *options) workers(a *cli.App, c client.Client) func(context.Context) (workerreport.Report,
	error) {
	return func(ctx context.Context) (workerreport.Report, error) {
		names, err := cli.FindWorkers(ctx, c, a.Connection.ResolvedNamespace, o.queue,
			[]string{api.LaneGeneral})
		if err != nil {
			return workerreport.Report{}, err
		}
		return cli.AskWorkers(ctx, c, o.queue, names)
	}
}

// localName is who decides on pages that need no login: the user of the process, and not the caller
// of the gateway's sessions, who must not decide about its own calls.
func localName() string { return caller(nil).ID }

// principal returns who sends a request that has passed the login.
func principal(r *http.Request) console.Principal {
	return login.PrincipalFromContext(r.Context())
}

// temporalUI returns the address of the Temporal UI; empty if it is not known.
func temporalUI(a *cli.App) string {
	address, _, _ := strings.Cut(a.Connection.RunURL("x", ""), "/namespaces/")
	return address
}
