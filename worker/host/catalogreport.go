package host

import (
	"context"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
)

// maxReported bounds the faults in an answer, in characters. The log has all of them.
const maxReported = 1000

// answerFor adds a worker that polls the queue of this process. It answers which tools the process
// serves and what happened on its lanes.
func (f *fleet) answerFor(c Config, conn client.Client, tools *folder.Watcher,
	own registered) {
	w := worker.New(conn, queues.Worker(c.TaskQueue, c.Connection.Identity), worker.Options{
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: 2,
		MaxConcurrentActivityTaskPollers:   1,
		OnFatalError: func(err error) {
			f.fail(fmt.Errorf("the worker that answers questions about this process: %w", err))
		},
	})
	w.RegisterActivityWithOptions(func(context.Context) (workerreport.Answer, error) {
		status := tools.Status()
		status.Catalog = own.labels.current()
		answer, err := c.catalogAnswer(status, f.lanes.names())
		answer.Policies = own.rules.inForce()
		return answer, err
	}, activity.RegisterOptions{Name: api.ReportCatalogActivity})
	w.RegisterActivityWithOptions(func(context.Context) (workerreport.Lanes, error) {
		return f.lanes.observer.counts.answer(c.Connection.Identity), nil
	}, activity.RegisterOptions{Name: api.ReportLanesActivity})
	f.workers = append(f.workers, w)
}

// catalogAnswer describes the tools of this process.
func (c Config) catalogAnswer(s folder.Status, lanes []string) (workerreport.Answer, error) {
	var hosted []workerreport.ToolVersion
	for _, t := range s.Catalog.All() {
		hosted = append(hosted, workerreport.ToolVersion{Name: t.Spec.Name, Version: t.Spec.Version,
			Digest: t.Digest})
	}
	packed, err := api.Pack(hosted).EncodeOnce()
	if err != nil {
		return workerreport.Answer{}, err
	}
	a := workerreport.Answer{Catalog: workerreport.Catalog{
		Worker: c.Connection.Identity, Lanes: lanes, Mode: c.Mode, Digest: s.Catalog.Digest(),
		Tools: len(hosted), Loaded: s.Loaded.UTC(),
	}}
	if packed.Size() <= api.MaxPayload/2 {
		a.ToolVersions = &packed
	}
	if err := s.Err(); err != nil {
		a.Error = display.ShortenLines(err.Error(), maxReported)
	}
	return a, nil
}
