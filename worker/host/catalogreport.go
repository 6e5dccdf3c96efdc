package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/buildinfo"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/worker/host/traffic"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// maxReported bounds the faults in an answer, in characters. The log has all of them.
const maxReported = 1000

// answerFor adds a worker that polls the queue of this process. It answers which tools the process
// serves and what happened on its lanes.
func (f *fleet) answerFor(c Config, conn client.Client, tools *folder.Watcher,
	own registered, requests *traffic.Counter) {
	w := worker.New(conn, queues.Worker(c.TaskQueue, c.Connection.Identity), worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: 2,
		MaxConcurrentActivityTaskPollers:   1,
		OnFatalError: func(err error) {
			f.fail(fmt.Errorf("the worker that answers questions about this process: %w", err))
		},
	})
	w.RegisterActivityWithOptions(func(ctx context.Context) (api.CatalogAnswer, error) {
		ahead := time.Since(activity.GetInfo(ctx).StartedTime) // by the server's clock
		status := tools.Status()
		status.Catalog = own.labels.current()
		answer, err := c.catalogAnswer(status, f.lanes.names())
		answer.Policies = own.rules.inForce()
		answer.Settings = settingsOf(requests, tools.Catalog(), own.lanes.current(),
			f.lanes.names())
		answer.Settings.Version, answer.Settings.Payloads = buildinfo.Read().String(), c.stored
		answer.Settings.ClockAhead = api.Duration(ahead)
		return answer, err
	}, activity.RegisterOptions{Name: api.ReportCatalogActivity})
	w.RegisterActivityWithOptions(func(context.Context) (api.WorkerLanes, error) {
		return f.lanes.observer.counts.answer(c.Connection.Identity), nil
	}, activity.RegisterOptions{Name: api.ReportLanesActivity})
	f.workers = append(f.workers, w)
}

// catalogAnswer describes the tools of this process.
func (c Config) catalogAnswer(s folder.Status, lanes []string) (api.CatalogAnswer, error) {
	var hosted []api.ToolVersion
	for _, t := range s.Catalog.All() {
		hosted = append(hosted, api.ToolVersion{Name: t.Spec.Name, Version: t.Spec.Version,
			Digest: t.Digest})
	}
	data, err := json.Marshal(api.Pack(hosted))
	if err != nil {
		return api.CatalogAnswer{}, err
	}
	if len(data) > api.MaxPayload/2 {
		data = nil
	}
	a := api.CatalogAnswer{ToolVersions: data, WorkerCatalog: api.WorkerCatalog{
		Worker: c.Connection.Identity, Lanes: lanes, Mode: c.Mode, Digest: s.Catalog.Digest(),
		Tools: len(hosted), Loaded: s.Loaded.UTC(),
	}}
	if err := s.Err(); err != nil {
		a.Error = display.ShortenLines(err.Error(), maxReported)
	}
	return a, nil
}

// maxShortHeartbeats bounds the tools that settingsOf names.
const maxShortHeartbeats = 20

// settingsOf describes the settings of this process that may not fit the server. The heartbeat
// timeout of a call on a lane with a limit is at least the lane's lease.
func settingsOf(requests *traffic.Counter, tools *toolspecs.Catalog, set *lanes.Set,
	served []string) *api.WorkerSettings {
	s := &api.WorkerSettings{Rejected: requests.Rejected()}
	s.Polls, s.PeakPolls = requests.Polls()
	leases := map[string]api.Duration{}
	s.Leases = leasesOf(set, served)
	for _, l := range s.Leases {
		leases[l.Lane] = l.Lease
	}
	for _, t := range tools.All() {
		tool := t.Tool()
		if !beats(tool) {
			continue
		}
		h := api.ToolHeartbeat{Tool: tool.Name,
			Heartbeat: max(tool.Heartbeat, leases[tool.Lane])}
		if s.Shortest == nil || h.Heartbeat < s.Shortest.Heartbeat {
			s.Shortest = &h
		}
		if tool.Effect == api.EffectOnce && h.Heartbeat < api.OnceHeartbeat &&
			len(s.ShortHeartbeats) < maxShortHeartbeats {
			s.ShortHeartbeats = append(s.ShortHeartbeats, h)
		}
	}
	return s
}

// beats reports whether calls of a tool send heartbeats.
func beats(tool api.Tool) bool {
	return tool.Lane != api.LaneInline &&
		(tool.Dispatch.TakesSlots() || tool.Dispatch == api.DispatchInstance)
}

// leasesOf returns the leases of the served lanes with a limit.
func leasesOf(set *lanes.Set, served []string) (leases []api.LaneLease) {
	for _, name := range served {
		if lane, _ := set.Lane(name); lane.Limited() {
			leases = append(leases, api.LaneLease{Lane: name,
				Lease: cmp.Or(lane.Lease, api.DefaultLease), Groups: max(lane.Holders, 1)})
		}
	}
	return leases
}
