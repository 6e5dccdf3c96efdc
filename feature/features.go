// Package feature puts runs and their features together. A feature is a folder below this one; the
// core does not know it.
package feature

import (
	forks "github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/workflows"
)

// Workflows returns the workflows with all features, by the name they are registered under. Workers
// execute them, and starter replays histories with them. The order of features is part of what runs
// decide.
func Workflows() map[string]any {
	return workflows.All(
		forks.New,
	)
}
