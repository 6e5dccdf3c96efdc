package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Feature is what a feature of runs adds to starter.
type Feature struct {
	// Commands returns its commands.
	Commands func(*App) []*cobra.Command
	// Show returns what it adds to the output of show.
	Show func(ctx context.Context, a *App, c client.Client, run history.Summary) (Shown, error)
}

// Shown is what a feature adds to the output of show.
type Shown struct {
	// Lines are for people, Values for JSON: by name, beside those of the input.
	Lines  []Line
	Values map[string]any
}

// Line is a line of show, with its name.
type Line struct{ Name, Text string }
