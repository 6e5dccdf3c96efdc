package runs

import (
	"context"

	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// namingFile is a file that names tools: its path, its kind, and the task queue of the workers that
// have the tools.
type namingFile struct{ path, kind, queue string }

// loadNaming loads a file that names tools and checks the names. If they are not in a folder that
// was not named, the tools of the workers count: ./tools may be the folder of anything.
func loadNaming[T any](ctx context.Context, a *cli.App, c *specfiles.Flags, file namingFile,
	load func(agents.Known) (T, error)) (T, error) {
	var none T
	known, err := specfiles.KnownTools(a, c)
	if err != nil {
		return none, err
	}
	loaded, err := load(known)
	if err == nil {
		return loaded, nil
	}
	if unchecked, other := load(agents.Known{}); c.Assumed && other == nil {
		served, ok := servedTools(ctx, a, file.queue)
		if ok && served == nil {
			return unchecked, nil
		}
		if ok {
			loaded, err = load(agents.Known{Names: served})
		}
	}
	if err != nil {
		return none, specfiles.CannotRun(a, file.path, file.kind, c, err,
			func(known agents.Known) error {
				_, err := load(known)
				return err
			})
	}
	return loaded, nil
}

// servedTools returns the names of the tools that the workers of a task queue have, and whether
// there are workers that answer; nil if they have too many to name.
func servedTools(ctx context.Context, a *cli.App, queue string) (names []string, ok bool) {
	c, err := a.Connect(ctx)
	if err != nil {
		return nil, false
	}
	defer c.Close()
	workers, err := cli.FindWorkers(ctx, c, a.Connection.ResolvedNamespace, queue, nil)
	if err != nil {
		return nil, false
	}
	report, err := cli.AskWorkers(ctx, c, queue, workers)
	if err != nil {
		return nil, false
	}
	for _, worker := range report.Workers {
		if worker.Failure != "" {
			continue
		}
		tools := report.Catalogs[worker.Digest]
		if len(tools) != worker.Tools {
			return nil, true
		}
		for _, tool := range tools {
			names, ok = append(names, tool.Name), true
		}
	}
	return names, ok
}
