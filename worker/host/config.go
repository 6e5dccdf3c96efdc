// Package host is the importable runtime of a worker. An application with tools in Go calls Main,
// which reads the same flags and environment as the shipped worker, or Run, which is configured in
// code only.
package host

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/worker/host/deployment"
	"go.temporal.io/sdk/client"
)

// Config configures a worker. The zero value of a field selects its default.
type Config struct {
	// Connection configures the connection to the server; default localhost:7233, namespace
	// default. The host sets Logger and MetricsHandler.
	Connection client.Options
	// Payloads configures how payloads are stored. All workers and starters of a namespace need the
	// same configuration. It is added to what Connection has.
	Payloads payloads.Config
	// TaskQueue is the task queue of workflows. Queues of lanes are derived from it. Default
	// switchyard.
	TaskQueue string
	// DeploymentName and BuildID are the version of this worker for Worker Versioning: the name
	// that all builds of the application share, and this build. Set both or neither. Runs stay on
	// the version that they started with until they continue as new. Only workflows and the lane
	// general are versioned; a worker without that lane ignores both.
	DeploymentName, BuildID string
	// Lanes are the lanes to serve; default all. The lane general includes workflows.
	Lanes []string
	// LanesFile is the file with the lanes and their rules. Without one there are general, serial
	// and inline, and lanes without rules for the other names in Lanes. Edits take effect while the
	// worker runs.
	LanesFile string
	// PoliciesFile is the file with the rules that every call is checked against; empty for none.
	// Edits take effect while the worker runs.
	PoliciesFile string
	// SkipInvalid starts the worker without the invalid toolspecs of the folder. A toolspec is
	// loaded when it is fixed. By default the worker does not start.
	SkipInvalid bool
	// Webhook is notified of calls that wait for approval; the zero value is none. All workers of
	// the lane general need the same values.
	Webhook activities.Webhook
	// Tools is a folder of toolspecs; empty for none. Edits apply to runs that start after them.
	Tools string
	// ReloadInterval is the interval at which Tools, LanesFile and PoliciesFile are polled for
	// changes that the file system did not report; default 5s.
	ReloadInterval time.Duration
	// NoReload ignores edits of Tools, LanesFile and PoliciesFile until the worker is restarted.
	NoReload bool
	// OnCatalogEvent receives every catalog event, starting with a tool_loaded for each tool; see
	// folder.Watcher.Subscribe. It may block.
	OnCatalogEvent func(folder.CatalogEvent)
	// Specs are toolspecs in addition to those of the folder.
	Specs []toolspecs.Spec
	// Functions are the handlers of toolspecs of the kind function.
	Functions []tool.Function
	// Stateful are the factories of toolspecs of the kind stateful.
	Stateful []tool.Stateful
	// Hooks are the hooks that agents can name.
	Hooks []tool.Hook
	// Models are added to openai, anthropic and scripted, or replace them.
	Models map[api.Provider]models.Model
	// ModelsFile is the file with the prices and context windows of models; empty for the built-in
	// table.
	ModelsFile string
	// Dir is the base of relative working folders of commands and MCP servers; default the
	// process's working folder.
	Dir string
	// Files is the folder for images and other bytes of MCP results that are too large to return;
	// default switchyard-UID/files in the system's temporary folder. Files are never removed.
	Files string
	// Logins is the folder with the tokens of logins at MCP servers, readable by this user only;
	// default switchyard/logins in the user's configuration folder, as for starter.
	Logins string
	// Inside lists host names, addresses and ranges that REST and MCP tools may reach even if they
	// are loopback, private or otherwise not public, provided that the toolspec names the host. A
	// toolspec's own allow does the same.
	Inside []string
	// Mode is how strictly arguments are read unless run or tool choose a mode; default strict.
	Mode api.Mode
	// Concurrency is the number of concurrent calls on this worker per lane without a limit;
	// default 100.
	Concurrency int
	// MaxConcurrent is the number of concurrent calls and model steps on this worker over all
	// lanes; zero for no limit. Calls beyond it wait at the server, where other workers can take
	// them. Model steps that arrive nevertheless run beyond it. Calls of stateful instances,
	// inline calls, and those of lanes with key, queue_size or strategy reject are not counted.
	MaxConcurrent int
	// Instances is the number of instances of stateful tools and MCP sessions per lane on this
	// worker; default 1000. Runs that need another one wait until a worker has capacity.
	Instances int
	// StopTimeout is the time that running calls have when the worker stops; default 30s. After
	// that they are cancelled: repeatable calls move to another worker, the others report
	// outcome_unknown.
	StopTimeout time.Duration
	// MetricsAddress serves /metrics, /healthz and /readyz; empty for none, port 0 for a free port.
	MetricsAddress string
	// Logger receives the logs; default slog.Default.
	Logger *slog.Logger
	// Ready is called once, when every lane is polled.
	Ready func(Info)
}

// Info describes what a ready worker serves.
type Info struct {
	Namespace string   `json:"namespace"`
	TaskQueue string   `json:"task_queue"`
	Lanes     []string `json:"lanes"`
	Tools     []string `json:"tools"`
	// DeploymentName and BuildID are the version of a worker of workflows; empty without one.
	DeploymentName string `json:"deployment_name,omitempty"`
	BuildID        string `json:"build_id,omitempty"`
	// Metrics is the address of /metrics; empty if it is not served.
	Metrics string `json:"metrics,omitempty"`
}

// invalidError is an error of the configuration or of a toolspec.
type invalidError struct{ error }

func (e invalidError) Unwrap() error { return e.error }

// withDefaults returns the configuration with its defaults filled in.
func (c Config) withDefaults() Config {
	c.Connection.HostPort = cmp.Or(c.Connection.HostPort, client.DefaultHostPort)
	c.Connection.Namespace = cmp.Or(c.Connection.Namespace, client.DefaultNamespace)
	c.Connection.Identity = cmp.Or(c.Connection.Identity, ownIdentity())
	c.TaskQueue = cmp.Or(c.TaskQueue, api.DefaultTaskQueue)
	c.Concurrency = cmp.Or(c.Concurrency, 100)
	c.Instances = cmp.Or(c.Instances, 1000)
	c.ReloadInterval = cmp.Or(c.ReloadInterval, folder.DefaultReloadInterval)
	if c.NoReload {
		c.ReloadInterval = folder.NeverReload
	}
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// ownIdentity identifies this process on the server.
func ownIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

// minReloadInterval bounds the load of polling.
const minReloadInterval = 10 * time.Millisecond

// validate returns every fault of the configuration. Each error names the field and the bound.
func (c Config) validate() error {
	faults := c.numberFaults()
	if c.StopTimeout < 0 {
		faults = append(faults, fmt.Errorf("Config.StopTimeout is %s; it cannot be negative",
			c.StopTimeout))
	}
	if c.ReloadInterval < minReloadInterval && !c.NoReload {
		faults = append(faults, fmt.Errorf("Config.ReloadInterval is %s; it must be at least %s",
			c.ReloadInterval, minReloadInterval))
	}
	if c.Mode != "" && c.Mode != api.ModeStrict && c.Mode != api.ModeLenient {
		faults = append(faults, fmt.Errorf("Config.Mode is %q; it must be strict or lenient",
			c.Mode))
	}
	if _, err := outbound.NewGuard(outbound.Policy{Inside: c.Inside}); err != nil {
		faults = append(faults, fmt.Errorf("Config.Inside: %w", err))
	}
	if err := c.Webhook.Check(); err != nil {
		faults = append(faults, fmt.Errorf("approval webhook: %w", err))
	}
	faults = append(faults, c.version().Check())
	return errors.Join(append(faults, c.laneFaults()...)...)
}

// version returns the version of the worker of workflows.
func (c Config) version() deployment.Version {
	return deployment.Version{Deployment: c.DeploymentName, Build: c.BuildID}
}

// numberFaults returns the faults of the numbers of calls and instances.
func (c Config) numberFaults() (faults []error) {
	if c.Concurrency < 1 {
		faults = append(faults, fmt.Errorf("Config.Concurrency is %d; it must be at least 1",
			c.Concurrency))
	}
	if c.MaxConcurrent < 0 {
		faults = append(faults, fmt.Errorf("Config.MaxConcurrent is %d; it cannot be negative",
			c.MaxConcurrent))
	}
	if c.Instances < 1 {
		faults = append(faults, fmt.Errorf("Config.Instances is %d; it must be at least 1",
			c.Instances))
	}
	return faults
}

func (c Config) laneFaults() []error {
	var faults []error
	for i, lane := range c.Lanes {
		if err := lanerules.CheckName(lane); err != nil {
			faults = append(faults, fmt.Errorf("Config.Lanes[%d]: %w", i, err))
		}
		if slices.Index(c.Lanes, lane) < i {
			faults = append(faults, fmt.Errorf("Config.Lanes[%d]: lane %q is named twice", i, lane))
		}
	}
	return faults
}
