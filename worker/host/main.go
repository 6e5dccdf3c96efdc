package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/flagerrors"
	"github.com/switchyard/switchyard/internal/healthcheck"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// The exit codes of a worker.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitConnect = 4
)

// Main is the main function of a worker program. It applies flags and environment to c, runs until
// SIGINT or SIGTERM, and returns the exit code: 0 stopped, 1 failed, 2 invalid flags, configuration
// or toolspecs or an unknown namespace, 4 no server or no access. It finds the server as the
// Temporal CLI does: by TEMPORAL_* variables and the profiles of its configuration file. If c has
// no Logger, it logs to stderr at --log-level.
//
// When every lane is polled, Main prints an Info as one line of JSON to stdout, for the program
// that started it, unless stdout is a terminal. Edits of toolspecs follow as lines with the event,
// tool, version, file and error of a catalog event.
func Main(c Config) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return main(ctx, c, os.Args[1:], os.Stdout, os.Stderr)
}

func main(ctx context.Context, c Config, args []string, stdout, stderr io.Writer) int {
	f := flags{Config: c}
	if err := f.parse(args, stderr); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	switch {
	case f.version:
		fmt.Fprintln(stdout, "worker", buildinfo.Read())
		return exitOK
	case f.health:
		return f.checkHealth(ctx, stdout, stderr)
	}
	c, err := f.configure(stderr)
	if err != nil {
		fmt.Fprintln(stderr, "worker:", err)
		return exitUsage
	}
	c = c.printing(stdout)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.parentPID != 0 {
		go endWithParent(ctx, f.parentPID, cancel)
	}
	if err := Run(ctx, c); err != nil && !errors.Is(err, context.Canceled) {
		f.reportFailure(c, err, stderr)
		return exitCode(err)
	}
	return exitOK
}

// reportFailure prints why the worker ends, in the format of its log.
func (f *flags) reportFailure(c Config, err error, stderr io.Writer) {
	if f.logFormat == formatJSON {
		c.Logger.Error("worker failed", "error", err)
		return
	}
	fmt.Fprintln(stderr, "worker:", err)
}

// checkHealth asks the worker at the address of metrics whether it is ready.
func (f *flags) checkHealth(ctx context.Context, stdout, stderr io.Writer) int {
	if f.MetricsAddress == "" {
		fmt.Fprintln(stderr, "worker: --health needs the --metrics-address of the worker to ask")
		return exitUsage
	}
	if err := healthcheck.Ask(ctx, f.MetricsAddress, "/readyz"); err != nil {
		fmt.Fprintln(stderr, "worker:", err)
		return exitFailed
	}
	fmt.Fprintln(stdout, "ready")
	return exitOK
}

// The values of --log-format.
const (
	formatText = "text"
	formatJSON = "json"
)

// logHandler returns the handler of the log in the format of --log-format.
func (f *flags) logHandler(w io.Writer, level slog.Level) (slog.Handler, error) {
	options := &slog.HandlerOptions{Level: level}
	switch f.logFormat {
	case formatText:
		return slog.NewTextHandler(w, options), nil
	case formatJSON:
		return slog.NewJSONHandler(w, options), nil
	}
	return nil, fmt.Errorf("--log-format %q: choose text or json", f.logFormat)
}

// isTerminal reports whether people read the output, and no program does.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printing returns a configuration that also prints the Info and then the events of the catalog,
// unless it is a terminal: the log says the same there.
func (c Config) printing(stdout io.Writer) Config {
	if isTerminal(stdout) {
		return c
	}
	lines := &lineWriter{out: json.NewEncoder(stdout), log: c.Logger}
	ready, onEvent := c.Ready, c.OnCatalogEvent
	c.Ready = func(info Info) {
		if ready != nil {
			ready(info)
		}
		lines.begin(info)
	}
	c.OnCatalogEvent = func(e folder.CatalogEvent) {
		if onEvent != nil {
			onEvent(e)
		}
		lines.event(e)
	}
	return c
}

// lineWriter prints lines of JSON, the first of which is an Info.
type lineWriter struct {
	mu    sync.Mutex
	out   *json.Encoder
	log   *slog.Logger
	begun bool
}

func (w *lineWriter) begin(info Info) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
	w.print(info)
}

// catalogLine is the line of a catalog event.
type catalogLine struct {
	Event   folder.CatalogEventType `json:"event"`
	Tool    string                  `json:"tool,omitempty"`
	Version string                  `json:"version,omitempty"`
	File    string                  `json:"file,omitempty"`
	Error   string                  `json:"error,omitempty"`
}

// event prints a change of the catalog.
func (w *lineWriter) event(e folder.CatalogEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Type {
	case folder.ToolAdded, folder.ToolUpdated, folder.ToolRemoved, folder.LoadError:
	default:
		return
	}
	if !w.begun {
		return
	}
	line := catalogLine{Event: e.Type, Tool: e.Tool, Version: e.Version, File: e.File}
	if e.Error != nil {
		line.Error = e.Error.Error()
	}
	w.print(line)
}

func (w *lineWriter) print(line any) {
	if err := w.out.Encode(line); err != nil {
		w.log.Warn("a line was not printed", "error", err)
	}
}

func exitCode(err error) int {
	if _, ok := errors.AsType[invalidError](err); ok {
		return exitUsage
	}
	if fault, ok := errors.AsType[*connection.Fault](err); ok {
		if fault.NoNamespace {
			return exitUsage
		}
		return exitConnect
	}
	return exitFailed
}

var errUsage = errors.New("wrong usage")

// flags are the command line of a worker. Those of Config change its copy of the application's.
type flags struct {
	Config
	connection          connection.Flags
	payloads            payloads.Config
	logLevel, logFormat string
	parentPID           int
	stickyCache         int
	reload, lenient     bool
	version, health     bool
}

// register defines the flags.
func (f *flags) register(set *pflag.FlagSet) {
	f.connection.Register(set)
	set.StringVar(&f.TaskQueue, "task-queue", f.TaskQueue,
		"task queue of workflows and of the lane general; other lanes use task-queue/lane "+
			"(default "+api.DefaultTaskQueue+")")
	set.StringSliceVar(&f.Lanes, "lanes", f.Lanes, "comma-separated `lanes` to serve (default all)")
	set.StringVar(&f.LanesFile, "lanes-file", f.LanesFile,
		"`file` with the lanes and their rules, reloaded on change (default none: lanes general, "+
			"serial and inline)")
	set.StringVar(&f.Tools, "tools", f.Tools, "`folder` of toolspecs; edits apply to runs that "+
		"start after them")
	set.BoolVar(&f.SkipInvalid, "skip-invalid", f.SkipInvalid,
		"start without the invalid toolspecs and load them once they are fixed (default: do not "+
			"start)")
	set.StringVar(&f.PoliciesFile, "policies-file", f.PoliciesFile,
		"`file` with the policies for all calls, reloaded on change (default none)")
	f.registerWebhook(set)
	set.StringVar(&f.ModelsFile, "models-file", f.ModelsFile, "`file` with the prices and context "+
		"windows of models (default built in)")
	set.DurationVar(&f.ReloadInterval, "reload-interval", f.ReloadInterval,
		"polling interval for edits of toolspecs, lanes and policies that the file system did "+
			"not report (default 5s)")
	set.BoolVar(&f.reload, "reload", !f.NoReload,
		"apply edits of toolspecs, lanes and policies while the worker runs; --reload=false: "+
			"only at its start")
	set.StringVar(&f.Dir, "dir", f.Dir, "base `folder` of relative working folders of command "+
		"tools and MCP servers (default the current one)")
	set.StringVar(&f.Files, "files", f.Files, "`folder` for images and other large bytes of MCP "+
		"results (default in this user's temporary files)")
	set.StringVar(&f.Logins, "logins", f.Logins, "`folder` for the tokens of MCP logins (default "+
		"switchyard/logins in the user's configuration folder)")
	f.payloads.Flags(set.StringVar)
	f.registerBounds(set)
	set.BoolVar(&f.lenient, "lenient", false, "read arguments leniently unless run or tool "+
		"choose a mode")
	set.DurationVar(&f.StopTimeout, "stop-timeout", f.StopTimeout,
		"time for running calls to finish when the worker stops (default 30s)")
	set.IntVar(&f.stickyCache, "sticky-cache", -1,
		"runs cached in memory; 0 replays every workflow task, -1 means 10000")
	set.StringVar(&f.MetricsAddress, "metrics-address", f.MetricsAddress,
		"`host:port` that serves /metrics, /healthz and /readyz (default none)")
	set.StringVar(&f.logLevel, "log-level", "info", "`level` of the log: debug, info, warn or error")
	set.StringVar(&f.logFormat, "log-format", formatText,
		"`format` of the log on standard error: text or json")
	f.registerProcess(set)
}

// registerProcess defines the flags of the process itself.
func (f *flags) registerProcess(set *pflag.FlagSet) {
	set.StringVar(&f.DeploymentName, "deployment-name",
		cmp.Or(os.Getenv("TEMPORAL_DEPLOYMENT_NAME"), f.DeploymentName), "`name` of the Worker "+
			"Deployment, with --build-id (TEMPORAL_DEPLOYMENT_NAME; default none: no Worker "+
			"Versioning)")
	set.StringVar(&f.BuildID, "build-id", cmp.Or(os.Getenv("TEMPORAL_WORKER_BUILD_ID"), f.BuildID),
		"`ID` of this build in the Worker Deployment; runs stay on their build until they "+
			"continue as new (TEMPORAL_WORKER_BUILD_ID)")
	set.BoolVar(&f.version, "version", false, "print the version and exit")
	set.BoolVar(&f.health, "health", false,
		"ask the worker that serves --metrics-address whether it is ready, and exit with 0 or 1")
	set.IntVar(&f.parentPID, "parent-pid", 0, "exit when the parent process, which must have "+
		"this `PID`, exits")
}

// registerWebhook defines the flags about notices of approvals.
func (f *flags) registerWebhook(set *pflag.FlagSet) {
	set.StringVar(&f.Webhook.URL, "approval-webhook", f.Webhook.URL,
		"`URL`, or env:NAME, notified of calls waiting for approval (default none)")
	set.StringVar(&f.Webhook.Secret, "approval-webhook-secret", f.Webhook.Secret,
		"`env:NAME` or file:/path of the secret that signs webhook requests")
	set.StringVar(&f.Webhook.Format, "approval-webhook-format", f.Webhook.Format,
		"`format` of notices: json, slack, teams or template:FILE (default json)")
	set.StringVar(&f.Webhook.Console, "console-url", f.Webhook.Console,
		"`address` of the gateway with the console, for links in notices (default no links)")
	set.StringVar(&f.Webhook.LinkKey, "approval-link-key", f.Webhook.LinkKey,
		"`env:NAME` or file:/path of the key, shared with the gateway, that signs links which "+
			"approve and deny (default no such links)")
	set.StringVar(&f.Webhook.LinkTo, "approval-link-to", f.Webhook.LinkTo,
		"`name` of who reads the notices, recorded with decisions by link (default the host of "+
			"--approval-webhook)")
}

func (f *flags) parse(args []string, stderr io.Writer) error {
	set := pflag.NewFlagSet("worker", pflag.ContinueOnError)
	set.Usage = func() {}
	f.register(set)
	switch err := set.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stderr, helpBegin, set.FlagUsages(), helpEnd)
		return err
	case err != nil:
		return wrongUsage(stderr, flagerrors.Explain(set, err).Error())
	case set.NArg() > 0:
		return wrongUsage(stderr, fmt.Sprintf("unexpected argument %q", set.Arg(0)))
	}
	return nil
}

// registerBounds defines the flags that bound concurrent calls.
func (f *flags) registerBounds(set *pflag.FlagSet) {
	set.IntVar(&f.Concurrency, "concurrency", f.Concurrency, "concurrent calls per lane without a "+
		"limit on this worker (default 100)")
	set.IntVar(&f.MaxConcurrent, "max-concurrent", f.MaxConcurrent, "concurrent calls and model "+
		"steps over all lanes of this worker; model steps can briefly exceed it (default no limit)")
	set.IntVar(&f.Instances, "instances", f.Instances, "concurrent instances of stateful tools "+
		"and MCP sessions per lane on this worker (default 1000)")
}

// What the help prints before and after the flags.
const (
	helpBegin = "A Switchyard worker executes runs and their tool calls. Start any number of " +
		"them.\n\nUsage:\n  worker [flags]\n\nFlags:\n"
	helpEnd = "\nExamples:\n  worker --tools ./tools --metrics-address :9090\n  " +
		"worker --tools ./tools --lanes-file lanes.yaml\n  worker --tools ./tools --lanes serial\n"
)

// wrongUsage prints a fault of the command line.
func wrongUsage(stderr io.Writer, text string) error {
	fmt.Fprintf(stderr, "worker: %s; see %s --help\n", text, display.ShellWord(os.Args[0]))
	return errUsage
}

// configure returns the configuration by the flags and the environment.
func (f *flags) configure(stderr io.Writer) (Config, error) {
	c := f.Config
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return c, fmt.Errorf("--log-level %q: choose debug, info, warn or error", f.logLevel)
	}
	handler, err := f.logHandler(stderr, level)
	if err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(handler)
	}
	options, err := f.connection.Options(false)
	if err != nil {
		return c, err
	}
	overrideConnection(&c.Connection, options)
	c.Payloads = f.payloads.Or(payloads.FromEnvironment(os.Getenv)).Or(c.Payloads)
	c.NoReload = !f.reload
	if f.stickyCache >= 0 {
		worker.SetStickyWorkflowCacheSize(f.stickyCache)
	}
	if f.lenient {
		c.Mode = api.ModeLenient
	}
	for i := range c.Lanes {
		c.Lanes[i] = strings.TrimSpace(c.Lanes[i])
	}
	return c, nil
}

// overrideConnection applies the environment's connection settings to those of the application.
// Data converters, interceptors and other options stay the application's.
func overrideConnection(c *client.Options, environment client.Options) {
	override(&c.HostPort, environment.HostPort)
	override(&c.Namespace, environment.Namespace)
	override(&c.Credentials, environment.Credentials)
	override(&c.HeadersProvider, environment.HeadersProvider)
	if t := environment.ConnectionOptions; t.TLS != nil || t.TLSDisabled {
		c.ConnectionOptions.TLS, c.ConnectionOptions.TLSDisabled = t.TLS, t.TLSDisabled
	}
	override(&c.ConnectionOptions.Authority, environment.ConnectionOptions.Authority)
}

// override sets a field unless value is the zero value.
func override[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// endWithParent calls end when the parent process has exited, so that a worker does not outlive the
// program that started it.
func endWithParent(ctx context.Context, pid int, end func()) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for os.Getppid() == pid {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
	end()
}
