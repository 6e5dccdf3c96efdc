package catalog

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
existing descriptions (import), and accepts changes of MCP tools (accept). Only list --workers and
list --pinned need a Temporal server.`,
		Example: `  starter tools list
  starter tools show calculator
  starter tools lint ./tools
  starter tools list --pinned refund@1.4.0
  starter tools import petstore.yaml --only pet
  starter tools accept ./tools`,
		Args: a.UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(toolsListCommand(a), toolsShowCommand(a), lintCommand(a), importCommand(a),
		acceptCommand(a))
	return cmd
}

// defaultTools describes the folder of toolspecs of a command.
const defaultTools = "(default ./tools where it holds some)"

// addTools adds the flags of the folder of toolspecs and of the lanes file.
func addTools(set *pflag.FlagSet, f *specfiles.Flags, purpose string) {
	set.StringVar(&f.Dir, "tools", "", "`folder` of toolspecs "+purpose)
	addLanesFile(set, f)
}

func addLanesFile(set *pflag.FlagSet, f *specfiles.Flags) {
	set.StringVar(&f.LanesFile, "lanes-file", "", "lanes `file` (default ./lanes.yaml if it exists)")
}

// filters are the flags of tools list that select from a folder.
var filters = []string{"category", "tag", "status", "name"}

func toolsListCommand(a *cli.App) *cobra.Command {
	var flags specfiles.Flags
	var query toolspecs.Query
	var status, queue, pinned string
	var workers bool
	cmd := &cobra.Command{
		Use: "list", Short: "List tools, the tools of each worker, or the runs that are pinned to a tool",
		Long: `Lists the tools of a folder together with the tools of the worker. This needs no server.

With --workers every worker of the task queue reports its tools. The command lists the workers,
and the tools that differ between them or from the folder, for example after an edit or a
deployment. --lanes finds workers of lanes other than general, serial and the lanes of the
folder's tools.

With --pinned it lists the open runs that are pinned to a tool, in any version or in one, the oldest
first. They need its code, its worker and its lane until they end. That includes runs whose
sub-agents use the tool, and those that undo or verify calls with it. The command reads the
histories of all open runs. A run that no worker has executed yet is not pinned and not listed.`,
		Example: `  starter tools list --tools ./tools --category http
  starter tools list --tag docs --status deprecated --output json
  starter tools list --workers --tools ./tools
  starter tools list --pinned refund@1.4.0 --output json | jq -r .workflow_id`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, filter := range filters {
				if (workers || pinned != "") && cmd.Flags().Changed(filter) {
					return cli.UsageError(cmd, "--%s applies to a folder of toolspecs", filter)
				}
			}
			switch {
			case pinned != "":
				return listPinned(a, cmd, pinned)
			case workers:
				return listWorkerTools(a, cmd, &flags, queue)
			}
			query.Status = api.Status(status)
			return listFolder(a, cmd, &flags, query)
		},
	}
	flags.Add(cmd.Flags(), defaultTools)
	cmd.Flags().StringVar(&query.Category, "category", "", "only tools of this `category`")
	cmd.Flags().StringVar(&query.Tag, "tag", "", "only tools with this `tag`")
	cmd.Flags().StringVar(&status, "status", "",
		"only tools of this `status`: active, deprecated or disabled")
	cmd.Flags().StringVar(&query.NamePart, "name", "", "only tools whose names contain this `text`")
	cmd.Flags().StringVar(&pinned, "pinned", "",
		"list the open runs that are pinned to a `tool`, as NAME or NAME@VERSION")
	cmd.Flags().BoolVar(&workers, "workers", false,
		"ask the workers for their tools and list differences")
	cmd.Flags().StringVarP(&queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers, with --workers")
	return cmd
}

func listFolder(a *cli.App, cmd *cobra.Command, flags *specfiles.Flags,
	query toolspecs.Query) error {
	switch query.Status {
	case "", api.StatusActive, api.StatusDeprecated, api.StatusDisabled:
	default:
		return cli.UsageError(cmd, "--status %q is not one of active, deprecated, disabled",
			query.Status)
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
}

func printTools(a *cli.App, tools []*toolspecs.Compiled) error {
	if a.Format.JSON() {
		var list []shownTool
		for _, c := range tools {
			list = append(list, show(c))
		}
		return cli.WriteJSONLines(a.Out, list)
	}
	if len(tools) == 0 {
		fmt.Fprintln(a.Err, "no tools")
		return nil
	}
	t := cli.Table{Header: []string{"tool", "version", "category", "status", "lane", "access",
		"effect", "description"}}
	for _, c := range tools {
		s := c.Spec
		t.Add(s.Name, s.Version, s.Category, string(s.Status), s.Execution.Lane,
			string(s.Execution.Access), string(s.Execution.Effect),
			display.Shorten(strings.TrimSpace(s.Description), 70))
	}
	return a.Print(t.Text(a.PaletteFor(a.Out)))
}

// shownTool is the JSON output of tools list and tools show.
type shownTool struct {
	Digest string          `json:"digest"`
	Spec   toolspecs.Spec  `json:"spec"`
	Input  json.RawMessage `json:"compiled_input_schema"`
	Output json.RawMessage `json:"compiled_output_schema,omitempty"`
}

func show(tool *toolspecs.Compiled) shownTool {
	return shownTool{Digest: tool.Digest, Spec: tool.Spec, Input: tool.ModelSchema(),
		Output: tool.OutputSchema()}
}

func toolsShowCommand(a *cli.App) *cobra.Command {
	var flags specfiles.Flags
	cmd := &cobra.Command{
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
			if a.Format.JSON() {
				return cli.WriteJSON(a.Out, show(tool), true)
			}
			return printTool(a, show(tool))
		},
	}
	addTools(cmd.Flags(), &flags, defaultTools)
	return cmd
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
