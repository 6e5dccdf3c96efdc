package cli

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/payloads"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
)

// ConnectTimeout bounds the wait for a server's first answer.
const ConnectTimeout = 3 * time.Second

// Connection holds the flags that select the server. Defaults come from TEMPORAL_* variables, then
// from the profile, then from the SDK.
type Connection struct {
	connection.Flags
	UI       string
	Payloads payloads.Config
	// program is how starter was called.
	program string
	// Opened is the payload storage. It is set once a connection exists.
	Opened *payloads.Storage
	// ResolvedAddress and ResolvedNamespace are the settings in effect.
	ResolvedAddress, ResolvedNamespace string
	// resolved are the options in effect.
	resolved client.Options
}

func (c *Connection) add(f *pflag.FlagSet) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags.Register(flags)
	flags.Lookup("namespace").Shorthand = "n"
	f.AddFlagSet(flags)
	c.Payloads.Flags(f.StringVar)
	f.StringVar(&c.UI, "ui-address", "",
		"`URL` of the Web UI, for links (SWITCHYARD_UI; default http://127.0.0.1:8233 for a local server)")
}

// options merges flags, environment and profile.
func (c *Connection) options() (client.Options, error) {
	options, err := c.Flags.Options(true)
	if err != nil {
		return client.Options{}, Errorf(ExitUsage, "%w", err)
	}
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	c.ResolvedAddress, c.ResolvedNamespace = options.HostPort, options.Namespace
	c.resolved = options
	// Discard the SDK's log messages, which would mix with the command's output.
	options.Logger = sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	options.Identity = "starter@" + hostname()
	storage, err := c.Storage()
	if err != nil {
		return client.Options{}, err
	}
	c.Opened = storage
	return options, storage.Apply(&options)
}

// Storage returns the payload storage that flags and environment configure.
func (c *Connection) Storage() (*payloads.Storage, error) {
	storage, err := payloads.Open(c.Payloads.Or(payloads.FromEnvironment(os.Getenv)))
	if err != nil {
		return nil, Errorf(ExitUsage, "%w", err)
	}
	return storage, nil
}

// Connect returns a client after the server has answered. The caller closes it.
func (a *App) Connect(ctx context.Context) (client.Client, error) {
	options, err := a.Connection.options()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	connection.SendSmallUncompressed(&options.ConnectionOptions)
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Client returns the client of the API for applications over a connection of this command.
func (a *App) Client(c client.Client) *switchyard.Client {
	return switchyard.NewClient(c, switchyard.Options{Caller: runstart.CurrentUser(),
		Namespace: a.Connection.ResolvedNamespace, Storage: a.Connection.Opened})
}

// Handle returns the handle of the run that the reference names.
func (a *App) Handle(c client.Client, run *RunRef) *switchyard.Run {
	return a.Client(c).OpenExecution(run.WorkflowID, run.RunID)
}

// server returns the server in effect, to explain why it cannot be used.
func (c *Connection) server() connection.Server {
	options := c.resolved
	options.HostPort = cmp.Or(options.HostPort, c.Address)
	return connection.Server{Options: options, Start: c.Program() + " dev",
		Create: c.Invocation().Command("setup", "--create-namespace")}
}

// StoresPayloads reports whether payloads are encoded or stored outside the server.
func (c *Connection) StoresPayloads() bool {
	return c.Payloads.Or(payloads.FromEnvironment(os.Getenv)) != payloads.Config{}
}
