// Package host is the importable runtime of a worker: an application with Go tools of its own calls Main (flags and
// environment like the shipped worker) or Run (everything in code).
package host

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/traces"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
)

// Config says what a worker serves. The zero value of a field means its default.
type Config struct {
	// Connection is how the server is reached; default localhost:7233, namespace default. Logger and MetricsHandler are
	// set by the host.
	Connection client.Options
	// Payloads says how payloads are stored; the same for all that share runs. It is added to what Connection has.
	Payloads payloads.Config
	// TaskQueue is the workflows' task queue, from which the lanes' derive; default switchyard.
	TaskQueue string
	// Lanes are the lanes to serve; default all there are. Workflows are served with the lane general.
	Lanes []string
	// LanesFile is the file with the lanes and their rules; empty for none, so that there are general, serial and inline, and
	// lanes without rules for other names in Lanes. Edits of it take effect while the worker runs.
	LanesFile string
	// PoliciesFile is the file with the rules that all calls are checked against; empty for none. Edits of it take effect while
	// the worker runs.
	PoliciesFile string
	// Partly has the worker start although something is wrong in the folder of toolspecs, with what is not: the rest is taken when it
	// is mended. Default is that it does not start.
	SkipInvalid bool
	// ApprovalWebhook is an http or https URL, or env:NAME, that is told of calls that wait for approval; empty for none. Who runs the
	// worker trusts it: it may be in an inner network. ApprovalWebhookSecret, env:NAME or file:/path, signs what is sent; it is
	// read at each request. Give all workers that serve the lane general the same.
	ApprovalWebhook       string
	ApprovalWebhookSecret string
	// Tools is a folder of toolspecs; empty for none. What is edited in it while the worker runs is for the runs that start
	// after that.
	Tools string
	// ReloadInterval is how often folder, lanes file and policies file are looked at for changes that the file system did not tell of; default 5s.
	ReloadInterval time.Duration
	// OnCatalogEvent is called with everything that happens to the tools, beginning with a tool_loaded for each; see
	// folder.Watcher.Subscribe. It may take its time.
	OnCatalogEvent func(folder.CatalogEvent)
	// Specs are toolspecs besides those of the folder.
	Specs []toolspecs.Spec
	// Functions are what toolspecs of the kind function refer to.
	Functions []switchyard.Function
	// Stateful are what toolspecs of the kind stateful refer to.
	Stateful []switchyard.Stateful
	// Hooks are what agents may name under hooks.
	Hooks []switchyard.Hook
	// Models are added to openai, anthropic and scripted, or replace them.
	Models map[api.Provider]models.Model
	// ModelsFile is the file with what models cost and how much they read; empty for the table that comes with the program.
	ModelsFile string
	// Dir is where relative working folders of commands and MCP servers start; default the process's.
	Dir string
	// Files is the folder for images and other bytes of MCP tools' answers that are too large for a result; default
	// switchyard-UID/files among the system's temporary files. Nothing removes what is in it.
	Files string
	// Logins is the folder of the tokens that logins at MCP servers gave, in files that only this user can read; default
	// switchyard/logins in the user's folder for configuration, as starter's.
	Logins string
	// Inside lists host names, addresses and ranges that requests of tools of the kinds rest and mcp may reach although they
	// are loopback, private or otherwise not public, where a tool's spec names the host. A spec's own allow does the same.
	Inside []string
	// Mode is how strictly arguments are read where neither run nor tool says; default strict.
	Mode api.Mode
	// Concurrency is how many calls of a lane without a limit run at a time on this worker; default 100.
	Concurrency int
	// Instances is how many instances of stateful tools of a lane this worker holds at a time; default 100. Runs that need
	// another one wait until a worker has room.
	Instances int
	// StopTimeout is how long running calls may go on when the worker is stopped; default 30s. After that they are
	// cancelled: repeatable ones go to another worker, the others report outcome_unknown.
	StopTimeout time.Duration
	// MetricsAddress serves /metrics, /healthz and /readyz; empty for none, port 0 for a free one.
	MetricsAddress string
	// OTLPEndpoint is the address of an OpenTelemetry collector that gets the traces of runs, by OTLP over HTTP; default that of
	// OTEL_EXPORTER_OTLP_ENDPOINT, and without it none. OTLPContent has them tell arguments, results and texts, redacted. A collector
	// that is slow or away costs spans, never a run's time.
	OTLPEndpoint string
	OTLPContent  bool
	// Logger gets the logs; default slog's.
	Logger *slog.Logger
	// Ready is called once, when every lane is polled.
	Ready func(Info)
}

// Info tells what a worker that is ready serves.
type Info struct {
	Namespace string   `json:"namespace"`
	TaskQueue string   `json:"task_queue"`
	Lanes     []string `json:"lanes"`
	Tools     []string `json:"tools"`
	// Metrics is the address of /metrics, if it is served.
	Metrics string `json:"metrics,omitempty"`
}

// invalidError says that the worker cannot start as it is configured.
type invalidError struct{ error }

func (e invalidError) Unwrap() error { return e.error }

// withDefaults returns the configuration with every default filled in.
func (c Config) withDefaults() Config {
	c.Connection.HostPort = cmp.Or(c.Connection.HostPort, client.DefaultHostPort)
	c.Connection.Namespace = cmp.Or(c.Connection.Namespace, client.DefaultNamespace)
	c.Connection.Identity = cmp.Or(c.Connection.Identity, ownIdentity())
	c.TaskQueue = cmp.Or(c.TaskQueue, api.DefaultTaskQueue)
	c.Concurrency = cmp.Or(c.Concurrency, 100)
	c.Instances = cmp.Or(c.Instances, 100)
	c.ReloadInterval = cmp.Or(c.ReloadInterval, folder.DefaultReloadInterval)
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// ownIdentity tells this process from every other in what the server shows.
func ownIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// minReloadInterval keeps a worker from doing nothing but looking at its folder.
const minReloadInterval = 10 * time.Millisecond

// validate returns everything wrong with the configuration; each error names the field and the bound.
func (c Config) validate() error {
	var faults []error
	if c.Concurrency < 1 {
		faults = append(faults, fmt.Errorf("Config.Concurrency is %d; it must be at least 1", c.Concurrency))
	}
	if c.Instances < 1 {
		faults = append(faults, fmt.Errorf("Config.Instances is %d; it must be at least 1", c.Instances))
	}
	if c.StopTimeout < 0 {
		faults = append(faults, fmt.Errorf("Config.StopTimeout is %s; it cannot be negative", c.StopTimeout))
	}
	if c.ReloadInterval < minReloadInterval {
		faults = append(faults, fmt.Errorf("Config.ReloadInterval is %s; it must be at least %s", c.ReloadInterval, minReloadInterval))
	}
	if c.Mode != "" && c.Mode != api.ModeStrict && c.Mode != api.ModeLenient {
		faults = append(faults, fmt.Errorf("Config.Mode is %q; it must be strict or lenient", c.Mode))
	}
	if _, err := outbound.NewGuard(outbound.Policy{Inside: c.Inside}); err != nil {
		faults = append(faults, fmt.Errorf("Config.Inside: %w", err))
	}
	return errors.Join(append(append(faults, c.webhookFault(), c.endpointFault()), c.laneFaults()...)...)
}

func (c Config) webhookFault() error {
	if err := c.webhook().Check(); err != nil {
		return fmt.Errorf("the webhook for approvals: %w", err)
	}
	return nil
}

func (c Config) endpointFault() error {
	if _, err := traces.NewEndpoint(c.OTLPEndpoint, os.Getenv); err != nil {
		return fmt.Errorf("Config.OTLPEndpoint: %w", err)
	}
	return nil
}

func (c Config) webhook() activities.Webhook {
	return activities.Webhook{URL: c.ApprovalWebhook, Secret: c.ApprovalWebhookSecret}
}

func (c Config) laneFaults() []error {
	var faults []error
	for i, lane := range c.Lanes {
		if err := api.CheckLaneName(lane); err != nil {
			faults = append(faults, fmt.Errorf("Config.Lanes[%d]: %w", i, err))
		}
		if slices.Index(c.Lanes, lane) < i {
			faults = append(faults, fmt.Errorf("Config.Lanes[%d]: lane %q is named twice", i, lane))
		}
	}
	return faults
}
