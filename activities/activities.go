// Package activities implements the worker side of a run: it pins tools, admits calls, executes
// them and calls models. All access to the outside world, and every answer that may change between
// two deployments, is made here and recorded in the run's history.
package activities

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"

	"github.com/switchyard/switchyard/activities/admission"
	"github.com/switchyard/switchyard/activities/conversation"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/results"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/activities/specs"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// Config configures the activities of one process.
type Config struct {
	// Catalog returns the current tools. Runs pin the tools they need when they start.
	Catalog func() *toolspecs.Catalog
	// Identity is the identity of the process's workers, as the server records it.
	Identity string
	// Client queries runs for state that this process does not hold, and opens keys of keyed lanes.
	Client client.Client
	// Executors execute calls, by kind of tool (toolspecs.KindFunction …).
	Executors map[string]executor.Executor
	// Models execute model steps, by provider.
	Models map[api.Provider]models.Model
	// ModelTable describes models by name; default modeltable.Shipped().
	ModelTable *modeltable.Table
	// Stored reads bytes that results stored as files on this worker, as MCP.Stored does; nil if
	// the worker stores none.
	Stored func(digest, mimeType string) ([]byte, error)
	// Keep stores a whole result that a run holds only in part, and returns a reference to it; nil
	// disables this.
	Keep func(ctx context.Context, output json.RawMessage) (reference string, err error)
	// Serve starts a worker for one instance; nil if the process hosts none.
	Serve instances.Serve
	// Hooks are the hooks that agents may name; may be nil.
	Hooks *hooks.Registry
	// Policies returns the currently configured rules for the calls of all runs; default none.
	Policies func() *policies.Set
	// Webhook is notified of calls that wait for approval; the zero value disables it.
	Webhook Webhook
	// Lanes returns the currently configured lanes; default lanes.NewSet(). Admission records which
	// lane rules it applied.
	Lanes func() *lanes.Set
	// ServeQueue starts a worker for one task queue of a lane with a limit; nil if this process
	// serves no such lane.
	ServeQueue slots.ServeQueue
	// Excess reports whether a call that is about to start is one too many for the worker's limit
	// over all lanes; nil if there is none.
	Excess func() bool
	// Exit ends the process if a call continues after its lane's lease has ended; default
	// os.Exit(1).
	Exit func()
	// Converter is the client's data converter; default the SDK's.
	Converter converter.DataConverter
	// CacheRuns and CacheBytes bound the cache of run state; defaults are those of
	// conversation.Config.
	CacheRuns  int
	CacheBytes int
}

// Activities implements the activities of one worker process. Its methods, and those of its
// exported parts, are registered by name; Tool is the dynamic activity.
type Activities struct {
	// Admission decides which calls run.
	Admission *admission.Admitter
	// Conversations caches the setups and conversations of runs.
	Conversations *conversation.Store
	// Instances hosts the instances of runs.
	Instances *instances.Host
	// Slots serves the slots and keys of lanes with a limit.
	Slots *slots.Server
	// Ledgers reaches the ledgers of rules about time.
	Ledgers *ledgers.Client

	config  Config
	specs   *specs.Cache
	results *results.Processor
	offered *offers
	// pictures caches which images models can read.
	pictures *pictures
	// speaking counts the model steps that currently stream text.
	speaking atomic.Int64
}

// New returns the activities of a process. It returns an error if a required part of the
// configuration is missing.
func New(c Config) (*Activities, error) {
	if c.Catalog == nil {
		return nil, errors.New(
			"activities: Config.Catalog is nil; give a function that returns the tools")
	}
	if c.Client == nil {
		return nil, errors.New(
			"activities: Config.Client is nil; runs could not be asked for their conversation")
	}
	if c.Converter == nil {
		c.Converter = converter.GetDefaultDataConverter()
	}
	if c.Lanes == nil {
		always := lanes.NewSet()
		c.Lanes = func() *lanes.Set { return always }
	}
	if c.Policies == nil {
		c.Policies = func() *policies.Set { return nil }
	}
	if c.ModelTable == nil {
		c.ModelTable = modeltable.Shipped()
	}
	if c.Exit == nil {
		c.Exit = func() { os.Exit(1) }
	}
	a := &Activities{config: c, specs: specs.New(), offered: newOffers(), pictures: newPictures()}
	a.results = results.New(results.Config{Hooks: c.Hooks, Keep: c.Keep})
	a.Conversations = conversation.New(conversation.Config{Client: c.Client,
		CacheRuns: c.CacheRuns, CacheBytes: c.CacheBytes})
	a.Ledgers = ledgers.New(c.Client)
	a.Admission = admission.New(admission.Config{Catalog: c.Catalog, Ledgers: a.Ledgers,
		Specs: a.specs, Executors: c.Executors, Lanes: c.Lanes, Policies: c.Policies,
		Hooks: c.Hooks, Results: a.results, Notify: c.Webhook.set()})
	a.Instances = instances.New(instances.Config{Client: c.Client, Converter: c.Converter,
		Executors: c.Executors, Serve: c.Serve, Spec: a.pinnedSpec, Tool: a.Tool,
		RestoreVariables: a.Conversations.RestoreVariables})
	a.Slots = slots.New(slots.Config{Client: c.Client,
		Identity: c.Identity, Lanes: c.Lanes, ServeQueue: c.ServeQueue, Exit: c.Exit,
		Excess: c.Excess,
		Tool:   a.Tool, Model: a.ModelStep})
	return a, nil
}

// LoadConversation implements the activity api.LoadConversationActivity, see conversation.Store.
func (a *Activities) LoadConversation(ctx context.Context,
	r api.LoadConversationRequest) (api.LoadedConversation, error) {
	ctx, rest := keepAlive(ctx, a.config.Client)
	defer rest()
	loaded, err := a.Conversations.Load(ctx, r)
	if err != nil && temporal.IsCanceledError(context.Cause(ctx)) {
		return loaded, temporal.NewCanceledError()
	}
	return loaded, err
}

// RunHook implements the activity api.HookActivity: it runs one hook of a run. It returns the
// hook's failure, which is retried if it was marked with tool.Transient.
func (a *Activities) RunHook(ctx context.Context, r api.HookRequest) (api.HookAnswer, error) {
	ctx, rest := keepAlive(ctx, a.config.Client)
	defer rest()
	if err := a.Conversations.RestoreVariables(ctx, &r.Origin); err != nil {
		return api.HookAnswer{}, err
	}
	return a.config.Hooks.Run(ctx, r, func(context.Context) ([]api.Message, error) {
		return a.Conversations.Messages(ctx, r.Conversation)
	})
}
