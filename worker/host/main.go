package host

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/payloads"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
)

// The exit codes of a worker.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitConnect = 4
)

// Main is the main function of a worker program: it reads flags and environment over c, runs until SIGINT or SIGTERM,
// and returns the exit code: 0 stopped, 1 failed, 2 wrong flags, configuration or toolspecs, 4 no server. The server is
// found as the Temporal CLI finds it: TEMPORAL_* variables and the profiles of its configuration file. Without a Logger
// in c, --log-level says what is logged to stderr.
//
// When every lane is polled it prints one line of JSON, an Info, to stdout; logs go to stderr.
func Main(c Config) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return main(ctx, c, os.Args[1:], os.Stdout, os.Stderr)
}

func main(ctx context.Context, c Config, args []string, stdout, stderr io.Writer) int {
	var f flags
	if err := f.parse(args, stderr); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		return exitUsage
	}
	c, err := f.apply(c, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "worker:", err)
		return exitUsage
	}
	own := c.Ready
	c.Ready = func(info Info) {
		if own != nil {
			own(info)
		}
		if err := json.NewEncoder(stdout).Encode(info); err != nil {
			c.Logger.Warn("could not print that the worker is ready", "error", err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if f.parentPID != 0 {
		go endWithParent(ctx, f.parentPID, cancel)
	}
	if err := Run(ctx, c); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "worker:", err)
		return exitCode(err)
	}
	return exitOK
}

func exitCode(err error) int {
	if _, ok := errors.AsType[invalidError](err); ok {
		return exitUsage
	}
	_, unavailable := errors.AsType[*serviceerror.Unavailable](err)
	if unavailable || errors.Is(err, context.DeadlineExceeded) {
		return exitConnect
	}
	return exitFailed
}

var errUsage = errors.New("wrong usage")

// flags are the command line of a worker.
type flags struct {
	address, namespace, profile string
	taskQueue, lanes, lanesFile string
	tools, modelsFile           string
	policiesFile                string
	webhook, webhookSecret      string
	dir, files, logins          string
	metricsAddress, logLevel    string
	otlpEndpoint                string
	otlpContent                 bool
	concurrency, parentPID      int
	stickyCache                 int
	lenient, skipInvalid        bool
	payloads                    payloads.Config
	stopTimeout, reloadInterval time.Duration
}

func (f *flags) parse(args []string, stderr io.Writer) error {
	set := flag.NewFlagSet("worker", flag.ContinueOnError)
	set.SetOutput(io.Discard) // what it says of errors is said better
	set.StringVar(&f.address, "address", "", "host:port of the Temporal server (TEMPORAL_ADDRESS; default localhost:7233)")
	set.StringVar(&f.namespace, "namespace", "", "namespace (TEMPORAL_NAMESPACE; default \"default\")")
	set.StringVar(&f.profile, "profile", "", "profile of the Temporal CLI's configuration file (TEMPORAL_PROFILE)")
	set.StringVar(&f.taskQueue, "task-queue", "", "task queue of workflows and of the lane general; other lanes are task-queue/lane (default "+api.DefaultTaskQueue+")")
	set.StringVar(&f.lanes, "lanes", "", "lanes to serve, with commas between them (default all there are)")
	set.StringVar(&f.lanesFile, "lanes-file", "", "file with the lanes and their rules; edits of it take effect at once (default none: the lanes general, serial and inline)")
	set.StringVar(&f.tools, "tools", "", "folder of toolspecs; edits of it are for the runs that start after them")
	set.BoolVar(&f.skipInvalid, "skip-invalid", false, "start although some toolspecs are wrong, with the others; they are taken when they are mended (default: do not start)")
	set.StringVar(&f.policiesFile, "policies-file", "", "file with the rules that all calls are checked against; edits of it take effect at once (default none)")
	set.StringVar(&f.webhook, "approval-webhook", "", "URL, or env:NAME, that is told of calls that wait for approval (default none)")
	set.StringVar(&f.webhookSecret, "approval-webhook-secret", "", "env:NAME or file:/path of the secret that signs what the webhook is told")
	set.StringVar(&f.modelsFile, "models-file", "", "file with what models cost and how much they read (default a table that comes with the worker)")
	set.DurationVar(&f.reloadInterval, "reload-interval", 0, "how often toolspecs, lanes and policies are looked at for edits that the system did not tell of (default 5s)")
	set.StringVar(&f.dir, "dir", "", "folder where relative working folders of command tools and MCP servers start (default the current one)")
	set.StringVar(&f.files, "files", "", "folder for images and other large bytes of MCP tools' answers (default one of this user's among the temporary files)")
	set.StringVar(&f.logins, "logins", "", "folder for the tokens of logins at MCP servers (default switchyard/logins in the user's folder for configuration)")
	f.payloads.Flags(set.StringVar)
	set.IntVar(&f.concurrency, "concurrency", 0, "calls of a lane without a limit that run at a time here (default 100)")
	set.BoolVar(&f.lenient, "lenient", false, "read arguments leniently where neither run nor tool says otherwise")
	set.DurationVar(&f.stopTimeout, "stop-timeout", 0, "how long running calls may go on when the worker is stopped (default 30s)")
	set.IntVar(&f.stickyCache, "sticky-cache", -1, "runs kept in memory between their steps; 0 replays every step from history, -1 means 10000")
	set.StringVar(&f.metricsAddress, "metrics-address", "", "host:port that serves /metrics, /healthz and /readyz (default none)")
	set.StringVar(&f.otlpEndpoint, "otlp-endpoint", "", "URL of an OTLP collector that gets the traces of runs (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS; default none)")
	set.BoolVar(&f.otlpContent, "otlp-content", false, "have traces tell arguments, results and texts, redacted")
	set.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error (default info)")
	set.IntVar(&f.parentPID, "parent-pid", 0, "end when this process, which must be the parent, is gone")
	set.Usage = func() {}
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		printUsage(stderr, set)
		return err
	case err != nil:
		return wrongUsage(stderr, misread(set, args))
	case set.NArg() > 0:
		return wrongUsage(stderr, fmt.Sprintf("unexpected argument %q", set.Arg(0)))
	}
	return nil
}

// printUsage tells how a worker is started.
func printUsage(stderr io.Writer, set *flag.FlagSet) {
	fmt.Fprintln(stderr, "A Switchyard worker executes runs and their tool calls. Start as many as you like, anywhere.\n\nUsage:\n  worker [flags]\n\nFlags:")
	printFlags(stderr, set)
	fmt.Fprintln(stderr, "\nExamples:\n  worker --tools ./tools --metrics-address :9090\n  worker --tools ./tools --lanes-file lanes.yaml\n  worker --tools ./tools --lanes serial")
}

// wrongUsage says what is wrong with a command line, and where to read on.
func wrongUsage(stderr io.Writer, text string) error {
	fmt.Fprintf(stderr, "worker: %s; see %s --help\n", text, api.ShellWord(os.Args[0]))
	return errUsage
}

// apply puts what the flags say over c.
func (f *flags) apply(c Config, stderr io.Writer) (Config, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return c, fmt.Errorf("--log-level %q: choose debug, info, warn or error", f.logLevel)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	}
	connection, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileProfile: f.profile})
	if err != nil {
		return c, fmt.Errorf("read the Temporal configuration: %w", err)
	}
	overrideConnection(&c.Connection, connection)
	override(&c.Connection.HostPort, f.address)
	override(&c.Connection.Namespace, f.namespace)
	c.Payloads = f.payloads.Or(payloads.FromEnvironment(os.Getenv)).Or(c.Payloads)
	override(&c.TaskQueue, f.taskQueue)
	override(&c.Tools, f.tools)
	override(&c.SkipInvalid, f.skipInvalid)
	override(&c.LanesFile, f.lanesFile)
	override(&c.PoliciesFile, f.policiesFile)
	override(&c.ApprovalWebhook, f.webhook)
	override(&c.ApprovalWebhookSecret, f.webhookSecret)
	override(&c.ModelsFile, f.modelsFile)
	override(&c.Dir, f.dir)
	override(&c.Files, f.files)
	override(&c.Logins, f.logins)
	override(&c.MetricsAddress, f.metricsAddress)
	override(&c.OTLPEndpoint, f.otlpEndpoint)
	override(&c.OTLPContent, f.otlpContent)
	override(&c.Concurrency, f.concurrency)
	override(&c.StopTimeout, f.stopTimeout)
	override(&c.ReloadInterval, f.reloadInterval)
	if f.stickyCache >= 0 {
		worker.SetStickyWorkflowCacheSize(f.stickyCache)
	}
	if f.lenient {
		c.Mode = api.ModeLenient
	}
	if f.lanes != "" {
		c.Lanes = strings.Split(f.lanes, ",")
		for i := range c.Lanes {
			c.Lanes[i] = strings.TrimSpace(c.Lanes[i])
		}
	}
	return c, nil
}

// overrideConnection puts what the environment says of the server over what the application does; data converters,
// interceptors and the like are the application's.
func overrideConnection(c *client.Options, environment client.Options) {
	override(&c.HostPort, environment.HostPort)
	override(&c.Namespace, environment.Namespace)
	override(&c.Credentials, environment.Credentials)
	override(&c.HeadersProvider, environment.HeadersProvider)
	override(&c.ConnectionOptions.TLS, environment.ConnectionOptions.TLS)
	override(&c.ConnectionOptions.TLSDisabled, environment.ConnectionOptions.TLSDisabled)
	override(&c.ConnectionOptions.Authority, environment.ConnectionOptions.Authority)
}

// override sets a field to a flag's value unless that is the zero value.
func override[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// endWithParent calls end when the parent process is gone: a worker that another program started does not outlive it.
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
