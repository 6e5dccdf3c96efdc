package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

func budgetsCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "budgets", GroupID: cli.GroupServer,
		Short: "List what principals have used of their budgets",
		Long: `Lists the tokens and the cost that the model steps of principals have used in the current hour,
day, week or month, for principals with a budget in the workers' policies file. The limits are in
that file. Workers have to run, because their ledgers answer.`,
		Example: `  starter budgets
  starter budgets --output json | jq 'select(.principal == "ada")'`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				var all []ledgerrules.PrincipalUsage
				for used, err := range audit.Principals(ctx, c) {
					if err != nil {
						return err
					}
					all = append(all, used)
				}
				return printBudgets(a, all, time.Now())
			})
		},
	}
}

func printBudgets(a *cli.App, all []ledgerrules.PrincipalUsage, now time.Time) error {
	for i := range all {
		all[i].Periods = slices.DeleteFunc(all[i].Periods,
			func(u ledgerrules.PeriodUsage) bool { return ledgerrules.HasEnded(u, now) })
	}
	all = slices.DeleteFunc(all,
		func(p ledgerrules.PrincipalUsage) bool { return len(p.Periods) == 0 })
	slices.SortFunc(all, func(p, q ledgerrules.PrincipalUsage) int {
		return cmp.Or(cmp.Compare(p.Principal, q.Principal), cmp.Compare(p.Auth, q.Auth))
	})
	if a.Format.JSON() {
		return cli.WriteJSONLines(a.Out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(a.Err, "no principal has used anything of a budget")
		return nil
	}
	t := cli.Table{Header: []string{"principal", "auth", "period", "since", "tokens", "cost"},
		Right: map[int]bool{4: true, 5: true}}
	for _, p := range all {
		for _, u := range p.Periods {
			t.Add(cli.PlainText(p.Principal), string(p.Auth), string(u.Period),
				u.Start.Format(time.RFC3339), strconv.Itoa(u.Tokens),
				strconv.FormatFloat(u.Cost, 'f', 4, 64))
		}
	}
	return a.Print(t.Text(a.PaletteFor(a.Out)))
}
