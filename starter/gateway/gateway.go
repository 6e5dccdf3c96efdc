package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/gateway"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/console"
	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/gateway/runs"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/httpserver"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"go.temporal.io/sdk/client"
)

// stateKeyVariable is the environment variable with the key that replicas share.
const stateKeyVariable = "SWITCHYARD_GATEWAY_KEY"

const (
	// readWithin bounds the arrival of a request. Answers may stream for long.
	readWithin = 30 * time.Second
	// leastStateKey is the minimum length of the key that replicas share.
	leastStateKey = 16
)

const gatewayHelp = `Serves tools to MCP clients: agents, editors and SDKs. Each call of a client is a call of a
durable session run, with the checks, approvals, lanes and records of every other run. A client
that is cut off, or a gateway that is killed, loses no call and no result.

The tools are those of the folder --tools, which the gateway watches, and the tools that ship with
the workers. Workers that have the same tools make the calls.

Clients connect to http://HOST:PORT/mcp. Approvals are listed and decided with the tools of
http://HOST:PORT/operator. With --stdio the gateway serves one client over its standard streams.

Several replicas can serve the same clients. They need the same SWITCHYARD_GATEWAY_KEY, which
protects the state of open questions.`

// options are the flags of the gateway.
type options struct {
	listen, queue string
	config        string
	linkKey       string
	tools         specfiles.Flags
	skipInvalid   bool
	direct, wait  time.Duration
	drain, idle   time.Duration
	stdio         bool
	// noLogin lets the user of this machine use the pages without a login.
	pages, noLogin bool
	health         bool
}

func gatewayCommand(a *cli.App) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "gateway", GroupID: cli.GroupServer,
		Short: "Serve tools to MCP clients", Long: gatewayHelp,
		Example: `  starter gateway --tools tools
  starter gateway --listen 127.0.0.1:9000 --direct 1s
  starter gateway --stdio`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.health {
				return checkHealth(cmd.Context(), a, o.listen)
			}
			if o.stdio && o.pages {
				return cli.UsageError(cmd, "--console needs HTTP and cannot be used with --stdio")
			}
			if err := o.check(cmd); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				if o.noLogin {
					var cancel context.CancelFunc
					ctx, cancel = context.WithCancel(ctx)
					defer cancel()
					go endWithParent(ctx, cancel)
				}
				return o.run(ctx, a, c)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:8090",
		"`host:port` to listen on; port 0 selects a free port")
	f.StringVar(&o.config, "config", "",
		"`file` with access, limits and virtual servers, such as gateway.yaml")
	f.StringVar(&o.linkKey, "approval-link-key", "",
		"`env:NAME` or file:/path of the key, shared with the workers, of links that approve and "+
			"deny (default no such links)")
	o.tools.AddFiles(f, "to offer (default ./tools if it contains any)")
	f.BoolVar(&o.skipInvalid, "skip-invalid", false,
		"start without invalid toolspecs, and offer each once its file is fixed")
	f.StringVar(&o.queue, "task-queue", api.DefaultTaskQueue, "`task queue` of the workers")
	f.DurationVar(&o.direct, "direct", gateway.DefaultDirect,
		"`duration` that a request waits for its result before the client gets a task or progress")
	f.DurationVar(&o.wait, "wait", gateway.DefaultWait,
		"`duration` that a request waits before it returns that the call is pending")
	f.DurationVar(&o.drain, "drain", 10*time.Second,
		"`duration` that open requests may take when the gateway stops")
	f.DurationVar(&o.idle, "idle", api.DefaultSessionIdleTimeout.Std(),
		"`duration` without calls after which a session ends")
	cmd.AddCommand(keysCommand(a), connectCommand(a), logoutCommand(a))
	f.BoolVar(&o.pages, "console", false,
		"serve pages for people at /console/: decide, answer, follow and control runs")
	f.BoolVar(&o.noLogin, "no-login", false, "serve the pages to everyone on this machine")
	_ = f.MarkHidden("no-login") // for starter dev
	f.BoolVar(&o.health, "health", false,
		"ask the gateway at --listen whether it is ready, and exit with 0 or 1")
	f.BoolVar(&o.stdio, "stdio", false, "serve one client over standard input and output")
	return cmd
}

// endWithParent ends the gateway of starter dev when that process has ended, be it killed.
func endWithParent(ctx context.Context, end func()) {
	parent, tick := os.Getppid(), time.NewTicker(time.Second)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	end()
}

// check checks the flags.
func (o *options) check(cmd *cobra.Command) error {
	if key := os.Getenv(stateKeyVariable); key != "" && len(key) < leastStateKey {
		return cli.UsageError(cmd, "%s has %d characters; use %d or more", stateKeyVariable,
			len(key), leastStateKey)
	}
	if o.direct <= 0 || o.wait < o.direct || o.wait > 10*time.Minute {
		return cli.UsageError(cmd, "--direct %s and --wait %s: use times above 0s, --wait not "+
			"below --direct and at most 10m", o.direct, o.wait)
	}
	if o.idle <= 0 || o.drain < 0 {
		return cli.UsageError(cmd, "--idle and --drain must be above 0")
	}
	o.tools.UseDefault()
	return nil
}

// run serves until ctx ends.
func (o *options) run(ctx context.Context, a *cli.App, c client.Client) error {
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	watcher, err := o.watch(log)
	if err != nil {
		return err
	}
	defer watcher.Close()
	var serving atomic.Pointer[gateway.Gateway]
	guard, err := o.access(log, &serving)
	if err != nil {
		return err
	}
	defer guard.Close()
	g, err := gateway.New(gateway.Config{Sessions: o.sessions(a, c), Catalog: watcher.Catalog,
		Caller: caller, Roles: access.RolesFromRequest, Operates: guard.Operates,
		Select:  guard.Select,
		Content: guard.Content, Direct: o.direct, Wait: o.wait,
		StateKey: []byte(os.Getenv(stateKeyVariable)), Version: buildinfo.Read().Version,
		Logger: log})
	if err != nil {
		return err
	}
	serving.Store(g)
	defer watcher.Subscribe(func(e folder.CatalogEvent) {
		switch e.Type {
		case folder.ReloadCompleted:
			g.CatalogChanged()
		case folder.LoadError:
			log.Warn("a toolspec is not in effect", "file", e.File, "error", e.Error)
		}
	})()
	if o.stdio {
		return o.serveStdio(ctx, a, g)
	}
	return o.serve(ctx, a, served{g, c, watcher.Catalog, guard, log})
}

// access reads the file of --config, and watches it. Clients of the gateway hear of changes.
func (o *options) access(log *slog.Logger, g *atomic.Pointer[gateway.Gateway]) (*access.Access,
	error) {
	options := access.Options{Listen: o.listen, Logger: log, Changed: func() {
		if g := g.Load(); g != nil {
			g.ContentChanged()
			g.CatalogChanged()
		}
	}}
	if o.stdio {
		options.Listen = ""
	}
	var guard *access.Access
	var err error
	if o.config == "" {
		guard, err = access.New(access.NewSettings(), options)
	} else {
		guard, err = access.Open(o.config, options)
	}
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "%w", err)
	}
	return guard, nil
}

// watch loads the tools and watches their folder.
func (o *options) watch(log *slog.Logger) (*folder.Watcher, error) {
	known, err := o.tools.Options()
	if err != nil {
		return nil, err
	}
	shipped, err := toolspecs.NewCatalog(toolspecs.LoadShipped())
	if err != nil {
		return nil, err
	}
	w, err := folder.Watch(folder.WatchConfig{Dir: o.tools.Dir, Options: known, Base: shipped,
		SkipInvalid: o.skipInvalid,
		OnPolling: func(err error) {
			log.Warn("changes of the folder are found every 5s only", "error", err)
		}})
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "%w", err)
	}
	return w, nil
}

func (o *options) sessions(a *cli.App, c client.Client) *runs.Sessions {
	own := switchyard.Options{Namespace: a.Connection.ResolvedNamespace, TaskQueue: o.queue,
		Storage: a.Connection.Opened}
	return &runs.Sessions{Client: switchyard.NewClient(c, own), IdleTimeout: o.idle,
		Running: func(ctx context.Context, run string) (map[string]*api.Progress, error) {
			pending, err := audit.Pending(ctx, c, run, "")
			progress := map[string]*api.Progress{}
			for _, p := range pending {
				progress[p.ID] = p.Progress
			}
			return progress, err
		}}
}

// caller returns who sends a request, or the user of the process for standard streams, which have
// no requests.
func caller(r *http.Request) api.Caller {
	if r != nil {
		return access.CallerFromContext(r.Context())
	}
	c := api.Caller{Type: api.CallerSession, ID: "local", Auth: api.AuthLoopback}
	if u, err := user.Current(); err == nil && u.Username != "" {
		c.ID = u.Username
	}
	return c
}

// ready is the gateway's output when it is ready.
type ready struct {
	Endpoint string `json:"endpoint"`
	Operator string `json:"operator"`
	Console  string `json:"console,omitempty"`
}

// served is what a gateway serves over HTTP, and what that needs.
type served struct {
	gateway *gateway.Gateway
	client  client.Client
	catalog func() *toolspecs.Catalog
	guard   *access.Access
	log     *slog.Logger
}

// serve serves over HTTP. When ctx ends, requests that wait for a call return that it is pending.
func (o *options) serve(ctx context.Context, a *cli.App, s served) error {
	guard := s.guard
	people, err := o.people(a, s, guard)
	if err != nil {
		return err
	}
	defer people.close()
	links, err := o.links(a, s.client, guard)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return cli.Errorf(cli.ExitUsage, "--listen %s: %w", o.listen, err)
	}
	server := httpserver.New(front(guard.Middleware(s.gateway), people.handler, links,
		&readiness{client: s.client, stopping: ctx}),
		httpserver.Limits{Read: readWithin, Write: 0, Body: guard.Settings().MaxBody()})
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		s.gateway.Drain()
		people.close()
		grace, cancel := context.WithTimeout(context.Background(), o.drain)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close() // streams that clients keep open
		}
	})()
	url := "http://" + listener.Addr().String()
	at := ready{Endpoint: url + gateway.Path, Operator: url + gateway.OperatorPath}
	if o.pages {
		at.Console = url + console.Path
	}
	if err := tell(a, at, guard.Settings().Authenticates()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return cli.Errorf(cli.ExitFailed, "the gateway: %w", err)
	}
	<-stopped
	return nil
}

// front serves everything that the gateway has, by the route of each request. people and links may
// be nil.
func front(g, people, links, ready http.Handler) http.Handler {
	all := routes.Handlers{routes.Server: g, routes.Operator: g, routes.Metadata: g,
		routes.Health: routes.Methods{http.MethodGet: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("ok\n"))
		}},
		routes.Ready: routes.Methods{http.MethodGet: ready.ServeHTTP}}
	if people != nil {
		all[routes.Console] = people
	}
	if links != nil {
		all[routes.Link] = links
	}
	if people != nil || links != nil {
		all[routes.Asset] = static.Handler()
	}
	return all
}

func tell(a *cli.App, r ready, authenticates bool) error {
	if a.Format.JSON() {
		return cli.WriteJSON(a.Out, r, false)
	}
	p := a.PaletteFor(a.Out)
	who := "Everyone on this machine"
	if authenticates {
		who = "Clients with a token or an API key"
	}
	addresses := p.Bold("MCP endpoint") + "  " + r.Endpoint + "\n" +
		p.Bold("for operators") + " " + r.Operator + "\n"
	if r.Console != "" {
		addresses += p.Bold("console") + "       " + r.Console + "\n"
	}
	return a.Println(addresses + "\n" + who + " can call the tools. Ctrl-C stops the gateway.")
}

// serveStdio serves the client that started this process.
func (o *options) serveStdio(ctx context.Context, a *cli.App, g *gateway.Gateway) error {
	err := g.ServeStdio(ctx, os.Stdin, writer{a.Out})
	if ctx.Err() != nil {
		return nil // the client has ended the process
	}
	return err
}
