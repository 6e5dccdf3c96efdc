package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/html"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/sdk/client"
)

func timelineCommand(a *cli.App) *cobra.Command {
	var ref cli.RunRef
	var file string
	var tree bool
	cmd := &cobra.Command{
		Use: "timeline RUN", GroupID: cli.GroupRuns,
		Short: "Write the timeline of a run as an HTML page",
		Long: `Writes a self-contained HTML page that needs no network. It shows by lane when each call waited,
for what, and when it ran, with attempts, failures and rejections, questions and their answers,
and model steps with their tokens. Click a bar for details. The page can be zoomed, searched and
printed, and contains a table of the calls.

A running run is shown up to now. With --tree the page includes the calls of the sub-agents
below the run.`,
		Example: `  starter timeline demo-1a2b3c4d
  starter timeline demo-1a2b3c4d --tree --file run.html
  starter timeline demo-1a2b3c4d --file - | ssh desk 'cat > run.html'`,
		Args: cli.Arguments(0, "RUN"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return checkPage(cmd, "--file",
				file)
		},
		RunE: a.OnRun(&ref, func(ctx context.Context, c client.Client, run *cli.RunRef) error {
			t, err := html.ReadTimeline(ctx, c, run.WorkflowID, run.RunID, tree)
			if err != nil {
				return a.LookupError(run.WorkflowID, run.RunID, err)
			}
			shown := shownRun{Summary: t.Run()}
			if err := evaluateShown(ctx, a, c, &shown); err != nil {
				return err
			}
			if t.Person = shown.Person; t.Incomplete {
				fmt.Fprintln(a.Err,
					"the server no longer has the first histories; the rest is shown")
			}
			if file == "" {
				file = pageName(run.WorkflowID)
			}
			return writePage(a, "--file", file, t.Write, nil)
		}),
	}
	ref.Add(cmd.Flags())
	cmd.Flags().StringVar(&file, "file", "",
		"`file` to write; - is standard output (default: the run's ID with .html)")
	cmd.Flags().BoolVar(&tree, "tree", false, "include the calls of sub-agents below the run")
	return cmd
}

// pageName returns a file name in the current folder that is safe for any run ID.
func pageName(workflowID string) string {
	safe := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '_'
		}
		return r
	}, workflowID)
	return cmp.Or(strings.TrimLeft(safe, ".-"), "run") + ".html"
}

// changedFlags returns the command's given flags as typed, except one.
func changedFlags(cmd *cobra.Command, but string) string {
	var given []string
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != but {
			given = append(given, "--"+f.Name+" "+f.Value.String())
		}
	})
	return strings.Join(given, " ")
}

// checkPage rejects an output file whose extension is not that of a page.
func checkPage(cmd *cobra.Command, flag, file string) error {
	if ending := strings.ToLower(filepath.Ext(file)); file != "" && file != "-" &&
		ending != ".html" && ending != ".htm" {
		return cli.UsageError(cmd,
			"%s %q does not end in .html; a browser can print the page as PDF", flag, file)
	}
	return nil
}

// writePage writes a page to the flag's file, or to standard output for -, and prints its location.
// missing are the runs that could not be read.
func writePage(a *cli.App, flag, file string, write func(io.Writer) error,
	missing cli.Unread) error {
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	if file == "-" {
		_, err := page.WriteTo(a.Out)
		return cmp.Or(err, missing.Err())
	}
	size := page.Len()
	err := cli.StreamWhole(flag, file, 0o600, func(w io.Writer) error {
		_, err := page.WriteTo(w)
		return err
	})
	if err != nil {
		return err
	}
	if a.Format.JSON() {
		written := map[string]any{"file": file, "bytes": size}
		if len(missing) > 0 {
			written["unread"] = missing
		}
		return missing.Exit(cli.WriteJSON(a.Out, written, false))
	}
	return cmp.Or(a.Println(fmt.Sprintf("%s (%s kB): open it in a browser", file,
		api.Thousands(max(size/1000, 1)))), missing.Err())
}
