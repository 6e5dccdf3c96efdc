package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
)

func toolsCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "tools", GroupID: cli.GroupServer,
		Short: "List, show, check, import and accept toolspecs",
		Long: `Reads the toolspecs of a folder together with the tools of the worker, creates toolspecs from
existing descriptions (import), and accepts changes of MCP tools (accept). Only pinned and list
--workers need a Temporal server.`,
		Example: `  starter tools list
  starter tools show calculator
  starter tools lint ./tools
  starter tools pinned refund@1.4.0
  starter tools import openapi petstore.yaml --tag pet
  starter tools accept ./tools`,
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var catalog specfiles.Flags
	catalog.Add(cmd.PersistentFlags(), "(default ./tools where it holds some)")
	cmd.AddCommand(toolsListCommand(a, &catalog), toolsShowCommand(a, &catalog), pinnedCommand(a),
		lintCommand(a, &catalog),
		importCommand(a, &catalog), acceptCommand(a, &catalog))
	return cmd
}

// listedTool is one tool of a list.
type listedTool struct {
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Category    string     `json:"category,omitempty"`
	Tags        []string   `json:"tags,omitempty"`
	Status      api.Status `json:"status"`
	Type        string     `json:"type"`
	Lane        string     `json:"lane"`
	Access      api.Access `json:"access"`
	Effect      api.Effect `json:"effect"`
	Description string     `json:"description"`
	Digest      string     `json:"digest"`
}

func toolsListCommand(a *cli.App, flags *specfiles.Flags) *cobra.Command {
	var query toolspecs.Query
	var status, queue string
	var workers bool
	filters := []string{"category", "tag", "status", "name"}
	cmd := &cobra.Command{
		Use: "list", Short: "List tools, or with --workers the tools of each worker",
		Long: `Lists the tools of a folder together with the tools of the worker. This needs no server.

With --workers every worker of the task queue reports its tools. The command lists the workers,
and the tools that differ between them or from the folder, for example after an edit or a
deployment. --lanes finds workers of lanes other than general, serial and the lanes of the
folder's tools.`,
		Example: `  starter tools list --tools ./tools --category http
  starter tools list --tag docs --status deprecated --output json
  starter tools list --workers --tools ./tools`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if workers {
				for _, filter := range filters {
					if cmd.Flags().Changed(filter) {
						return cli.UsageError(cmd,
							"--%s applies to a folder of toolspecs; --workers compares all tools",
							filter)
					}
				}
				return listWorkerTools(a, cmd, flags, queue)
			}
			query.Status = api.Status(status)
			switch query.Status {
			case "", api.StatusActive, api.StatusDeprecated, api.StatusDisabled:
			default:
				return cli.UsageError(cmd, "--status %q is not one of active, deprecated, disabled",
					status)
			}
			flags.UseDefault()
			catalog, wrong := flags.LoadToShow()
			if catalog == nil {
				return wrong
			}
			if err := printTools(a, catalog.Select(query)); err != nil {
				return err
			}
			return wrong
		},
	}
	cmd.Flags().StringVar(&query.Category, "category", "", "only tools of this `category`")
	cmd.Flags().StringVar(&query.Tag, "tag", "", "only tools with this `tag`")
	cmd.Flags().StringVar(&status, "status", "",
		"only tools of this `status`: active, deprecated or disabled")
	cmd.Flags().StringVar(&query.NamePart, "name", "", "only tools whose names contain this `text`")
	cmd.Flags().BoolVar(&workers, "workers", false,
		"ask the workers for their tools and list differences")
	cmd.Flags().StringVarP(&queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers, with --workers")
	return cmd
}

func printTools(a *cli.App, tools []*toolspecs.Compiled) error {
	t := cli.Table{Header: []string{"tool", "version", "category", "status", "lane", "access",
		"effect", "description"}}
	for _, c := range tools {
		s := c.Spec
		if a.Format.JSON() {
			line := listedTool{Name: s.Name, Version: s.Version, Category: s.Category, Tags: s.Tags,
				Status: s.Status, Type: s.Entry.Type(),
				Lane: s.Execution.Lane, Access: s.Execution.Access, Effect: s.Execution.Effect,
				Description: s.Description, Digest: c.Digest}
			if err := cli.WriteJSON(a.Out, line, false); err != nil {
				return err
			}
			continue
		}
		t.Add(s.Name, s.Version, s.Category, string(s.Status), s.Execution.Lane,
			string(s.Execution.Access), string(s.Execution.Effect),
			display.Shorten(strings.TrimSpace(s.Description), 70))
	}
	switch {
	case a.Format.JSON():
		return nil
	case len(tools) == 0:
		fmt.Fprintln(a.Err, "no tools")
		return nil
	}
	return a.Print(t.Text(a.PaletteFor(a.Out)))
}

// shownTool is the JSON output of tools show.
type shownTool struct {
	Digest string          `json:"digest"`
	Spec   toolspecs.Spec  `json:"spec"`
	Input  json.RawMessage `json:"compiled_input_schema"`
	Output json.RawMessage `json:"compiled_output_schema,omitempty"`
}

func toolsShowCommand(a *cli.App, flags *specfiles.Flags) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a toolspec with all defaults, and the JSON Schema that models see",
		Long: `Shows a tool of a folder or of the worker: its toolspec with all defaults, and the JSON Schemas
of its arguments, as models see them, and of its result. Needs no server.`,
		Example: `  starter tools show calculator
  starter tools show calculator --output json | jq .compiled_input_schema`,
		Args: cli.Arguments(1, "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.UseDefault()
			catalog, wrong := flags.LoadToShow()
			if catalog == nil {
				return wrong
			}
			tool, ok := catalog.Get(args[0])
			if !ok {
				return cmp.Or(wrong, specfiles.UnknownTool(a, catalog, args[0], flags.Dir))
			}
			shown := shownTool{Digest: tool.Digest, Spec: tool.Spec, Input: tool.ModelSchema(),
				Output: tool.OutputSchema()}
			if a.Format.JSON() {
				return cli.WriteJSON(a.Out, shown, true)
			}
			return printTool(a, shown)
		},
	}
}

func printTool(a *cli.App, t shownTool) error {
	p := a.PaletteFor(a.Out)
	spec, err := jsonvalue.Encode(t.Spec)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s %s (digest %s)\n%s\n", p.Bold(t.Spec.Name), t.Spec.Version, t.Digest,
		strings.TrimSpace(t.Spec.Description))
	fmt.Fprintf(a.Out, "\n%s\n%s\n", p.Bold("spec, with all defaults"), cli.ReadableJSON(spec))
	fmt.Fprintf(a.Out, "\n%s\n%s\n", p.Bold("arguments as JSON Schema"), cli.ReadableJSON(t.Input))
	if len(t.Output) > 0 {
		fmt.Fprintf(a.Out, "\n%s\n%s\n", p.Bold("result as JSON Schema"),
			cli.ReadableJSON(t.Output))
	}
	return nil
}
