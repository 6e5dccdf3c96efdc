package switchyard

import (
	"cmp"
	"context"
	"os"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/runlist"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/payloads"
)

// Options select the server of a Client. What is not set comes from the TEMPORAL_* variables, then
// from the profile of the Temporal CLI's configuration file, then from the SDK. The zero value
// connects to localhost:7233, namespace default, unless the environment says otherwise.
type Options struct {
	// Address is host:port of the server.
	Address, Namespace string
	// Profile is a profile of ConfigFile, a TOML file in the Temporal CLI's format.
	Profile, ConfigFile string
	// APIKey enables TLS, too.
	APIKey string
	// TLS turns TLS on or off; nil leaves it to the other settings.
	TLS *bool
	// The files of TLS are in PEM format. The client certificate and its key are read again for
	// each connection. TLSServerName is the expected name in the server's certificate.
	TLSCertPath, TLSKeyPath, TLSCAPath, TLSServerName string
	// TLSDisableHostVerification accepts any server certificate.
	TLSDisableHostVerification bool

	// Payloads is how payloads are encoded and stored; the same for all workers and clients. What
	// is not set comes from the SWITCHYARD_PAYLOAD_* variables.
	Payloads payloads.Config
	// Storage is used in place of Payloads if it is set. NewClient uses it only to check that it
	// can read what the workers write.
	Storage *payloads.Storage

	// Caller names the program or person that starts runs; default is the user of the process.
	Caller string
	// TaskQueue is the task queue of the workers that execute runs; default api.DefaultTaskQueue.
	TaskQueue string
	// Logger is that of the SDK; nil logs to standard error.
	Logger log.Logger
}

// Client starts, follows and controls runs. It is safe for concurrent use.
//
// Every method that talks to the server honours its context. Errors are those of the context,
// *RequestError, *RunError and *Error.
type Client struct {
	temporal  client.Client
	namespace *runstart.Namespace
	caller    string
	taskQueue string
	// opened is set if Close closes the connection.
	opened bool

	mu sync.Mutex
	// flows are the sessions with calls in flight, by workflow ID.
	flows map[string]*sessionFlow
}

// Dial connects to the server and waits for its first answer, at most 5 seconds.
//
// Errors are *RequestError values of the types invalid_request, for a wrong setting, and
// server_unreachable. Their texts name settings as the flags of starter, which are spelled like
// the fields of Options: --tls-ca-path is TLSCAPath.
func Dial(ctx context.Context, o Options) (*Client, error) {
	options, err := o.connection()
	if err != nil {
		return nil, &RequestError{Type: RequestInvalid, Message: err.Error(), err: err}
	}
	o.Namespace = options.Namespace
	if o.Storage == nil {
		o.Storage, err = payloads.Open(o.Payloads.Or(payloads.FromEnvironment(os.Getenv)))
	}
	if err == nil {
		err = o.Storage.Apply(&options)
	}
	if err != nil {
		return nil, &RequestError{Type: RequestInvalid, Message: err.Error(), err: err}
	}
	connection.SendSmallUncompressed(&options.ConnectionOptions)
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, dialError(ctx, options, err)
	}
	own := NewClient(c, o)
	own.opened = true
	return own, nil
}

// connection returns the SDK's options.
func (o Options) connection() (client.Options, error) {
	flags := connection.Flags{Address: o.Address, Namespace: o.Namespace, Profile: o.Profile,
		ConfigFile: o.ConfigFile, APIKey: o.APIKey, TLS: o.TLS, TLSCertPath: o.TLSCertPath,
		TLSKeyPath: o.TLSKeyPath, TLSCAPath: o.TLSCAPath, TLSServerName: o.TLSServerName,
		TLSDisableHostVerification: o.TLSDisableHostVerification}
	options, err := flags.Options(true)
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.Logger = o.Logger
	return options, err
}

// dialError explains why a server cannot be used.
func dialError(ctx context.Context, options client.Options, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	server := connection.Server{Options: options, Start: "starter dev",
		Create: "starter setup --create-namespace"}
	err = server.Explain(ctx, err)
	return &RequestError{Type: ServerUnreachable, Message: err.Error(), err: err}
}

// NewClient returns a Client that uses a connection that is open already. Of the options it uses
// Namespace, Storage, Caller and TaskQueue. If payloads are encoded, Storage.Apply must have been
// applied to the options of the connection. Close does not close it.
func NewClient(c client.Client, o Options) *Client {
	own := &Client{temporal: c, caller: cmp.Or(o.Caller, runstart.CurrentUser()),
		taskQueue: cmp.Or(o.TaskQueue, api.DefaultTaskQueue),
		namespace: &runstart.Namespace{Client: c,
			Name: cmp.Or(o.Namespace, client.DefaultNamespace)}}
	if o.Storage != nil {
		own.namespace.Decode = o.Storage.Decode
	}
	return own
}

// Close closes the connection that Dial opened.
func (c *Client) Close() {
	if c.opened {
		c.temporal.Close()
	}
}

// Temporal returns the connection, for what this package does not offer.
func (c *Client) Temporal() client.Client { return c.temporal }

// Open returns a handle of the run that has this ID now, or of the last one that had it. It does
// not ask the server whether there is one.
func (c *Client) Open(id string) *Run { return &Run{client: c, id: id} }

// OpenExecution is Open for the run that an execution belongs to. Runs of a conversation share
// their ID and differ in their executions.
func (c *Client) OpenExecution(id, runID string) *Run {
	return &Run{client: c, id: id, runID: runID}
}

// Types of lists of runs.
type (
	// RunQuery selects runs. Its zero value selects all that no other run started.
	RunQuery = runlist.Query
	// ListedRun is a run as visibility knows it.
	ListedRun = runlist.Run
)

// List returns a page of at most size runs, open ones first, each newest first. token is that of
// the page before, nil for the first; next is empty after the last page. The server lists a new run
// about a second after its start.
//
// Errors: *RequestError of the types invalid_request for a Query that the server does not accept,
// server_unreachable and server_refused, and that of ctx.
func (c *Client) List(ctx context.Context, q RunQuery, size int, token []byte) (runs []ListedRun,
	next []byte, err error) {
	runs, next, err = runlist.Page(ctx, c.temporal, c.namespace.Name, q, size, token)
	return runs, next, requestError(ctx, "", err)
}

// Namespace returns the namespace of the runs.
func (c *Client) Namespace() string { return c.namespace.Name }
