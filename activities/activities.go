// Package activities does what runs decide: it pins tools, admits calls, executes them and asks
// models. Everything that touches the outside world, or whose answer could change between two
// deploys, happens here, and what comes of it is recorded in the run's history.
package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/slots"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	modeltable "github.com/switchyard/switchyard/toolspecs/models"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// Config says what a process can do.
type Config struct {
	// Catalog returns the tools as they are now. Runs pin what they need of it when they start.
	Catalog func() *toolspecs.Catalog
	// Identity is that of the process's workers, as the server knows them.
	Identity string
	// Client asks runs, by query, for what this process does not hold, and has keys of lanes
	// opened.
	Client client.Client
	// Executors execute calls, by kind of tool (switchyard.KindFunction …).
	Executors map[string]executor.Executor
	// Models answer model steps, by provider.
	Models map[api.Provider]models.Model
	// ModelTable is what is known of models by their names; default modeltable.Shipped().
	ModelTable *modeltable.Table
	// Stored reads bytes that results left in files here, as MCP.Stored does; nil where there are
	// none.
	Stored func(digest, mimeType string) ([]byte, error)
	// Keep keeps a whole result of which a run holds a part, and returns a reference to it; nil
	// where it is not kept.
	Keep func(ctx context.Context, output json.RawMessage) (reference string, err error)
	// Stateful are the factories of stateful tools, Serve starts a worker for one of their
	// instances. Both may be nil where there are none.
	Stateful *Factories
	Serve    Serve
	// Hooks are those that agents may name; nil for none.
	Hooks *Hooks
	// Policies returns the rules for the calls of all runs, as they are configured now; default
	// none.
	Policies func() *policies.Set
	// Webhook is told of calls that wait for approval; the zero value is none.
	Webhook Webhook
	// Lanes returns the lanes as they are configured now; default lanes.Of(). By which rules a call
	// was admitted is recorded.
	Lanes func() *lanes.Set
	// ServeQueue starts a worker for one task queue of a lane with a limit; nil where no such lane
	// is served.
	ServeQueue slots.ServeQueue
	// Exit ends the process, where a call goes on although its lane's lease is over; default
	// os.Exit(1).
	Exit func()
	// Converter is the client's data converter; default the SDK's.
	Converter converter.DataConverter
	// CacheRuns and CacheBytes bound what is remembered of runs; default 256 runs and 64 MiB.
	CacheRuns  int
	CacheBytes int
}

// Activities are the deeds of one process, to be registered with its workers: Pin, Admit, Open,
// Settle, Reply, RunHook and ModelStep by name, Tool as the dynamic activity.
type Activities struct {
	config  Config
	specs   *specs
	runs    *runCache
	keys    *keys
	rules   rulesOfRuns
	offered *offers
	// pictures are the images that models were shown.
	pictures *pictures
	// Slots serves the slots and keys of lanes with a limit.
	Slots *slots.Server
	// speaking counts the model steps that have text under way.
	speaking atomic.Int64
}

// New returns the activities of a process. It returns an error where the configuration lacks a
// part.
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
		always := lanes.Of()
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
	a := &Activities{
		config:   c,
		specs:    newSpecs(),
		runs:     newRunCache(cmp.Or(c.CacheRuns, 256), cmp.Or(c.CacheBytes, 64<<20)),
		keys:     newKeys(c.Client),
		offered:  newOffers(),
		pictures: newPictures(),
	}
	a.Slots = slots.New(slots.Config{Client: c.Client, Converter: c.Converter, Identity: c.Identity,
		Lanes:      c.Lanes,
		ServeQueue: c.ServeQueue, Exit: c.Exit, Tool: a.Tool, Model: a.ModelStep})
	return a, nil
}
