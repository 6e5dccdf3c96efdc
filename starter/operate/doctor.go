package operate

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/client"
)

// mark is the severity of a finding.
type mark string

const (
	markGood mark = "ok"
	markWarn mark = "warning"
	markBad  mark = "problem"
)

// finding is one line of doctor: the subject, its state, and what to do.
type finding struct {
	Mark   mark   `json:"mark"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// doctor checks a server and its workers.
type doctor struct {
	app       *cli.App
	client    client.Client
	namespace string
	queue     string
	catalog   *specfiles.Flags
	// lanes names the lanes of set that should have workers.
	lanes []string
	set   *lanes.Set
	// wrong holds the faults in the tools folder and the lanes file.
	wrong  toolspecs.Faults
	failed bool
	// unusable is set if no further check is possible.
	unusable bool
}

const doctorHelp = `Checks whether the server answers and how fast, whether the namespace and the search attributes
exist, which lanes have no worker, who holds the slots of lanes with a limit, and on which version
new runs start. Asks every worker for faults in its folder of toolspecs and for its policies.

With --gateway it checks gateways instead, from outside, as a client does: readiness, encryption,
foreign web pages, clients without credentials, the metadata for clients, and the list of tools,
with the API key in SWITCHYARD_API_KEY. Two addresses are two replicas: the second has to continue a
session of the first.

The exit code is 1 if there is a problem and 4 if no server answers.`

func doctorCommand(a *cli.App) *cobra.Command {
	var catalog specfiles.Flags
	var queue string
	var gateways []string
	cmd := &cobra.Command{
		Use: "doctor", GroupID: cli.GroupServer,
		Short: "Check the server and its workers",
		Long:  doctorHelp,
		Example: `  starter doctor
  starter doctor --tools ./tools --lanes gpu
  starter doctor --gateway http://127.0.0.1:8090/mcp`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(gateways) > 0 {
				return checkGateways(cmd.Context(), a, gateways)
			}
			if err := catalog.Check(cmd); err != nil {
				return err
			}
			names, err := catalog.ServedLanes()
			wrong, isWrong := errors.AsType[toolspecs.Faults](err)
			if err != nil && !isWrong {
				return err
			}
			set, err := catalog.LaneSet()
			switch {
			case err != nil && catalog.LanesFile != "":
				return err // the lanes are checked against it
			case err != nil:
				set = catalog.NamedLanes()
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				d := &doctor{wrong: wrong, app: a, client: c,
					namespace: a.Connection.ResolvedNamespace, queue: queue, catalog: &catalog,
					lanes: names, set: set.Plain(names...)}
				return d.examine(ctx)
			})
		},
	}
	catalog.Add(cmd.Flags(), "whose lanes are checked (default ./tools where it holds some)")
	cmd.Flags().StringVarP(&queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers")
	cmd.Flags().StringSliceVar(&gateways, "gateway", nil,
		"`URL` of a gateway, such as http://HOST:PORT/mcp; repeat it for replicas")
	return cmd
}

// examine prints findings as they arrive. The exit code is 1 if one is a problem.
func (d *doctor) examine(ctx context.Context) error {
	steps := []func(context.Context) ([]finding, error){d.files, d.server, d.codec,
		d.namespaces, d.attributes, d.latency, d.workers, d.versions, d.laneStates, d.catalogs}
	for _, step := range steps {
		findings, err := step(ctx)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if err := d.print(f); err != nil {
				return err
			}
		}
		if d.unusable {
			break
		}
	}
	if d.failed {
		return cli.Exit(cli.ExitFailed)
	}
	return nil
}

func (d *doctor) print(f finding) error {
	d.failed = d.failed || f.Mark == markBad
	if d.app.Format.JSON() {
		return cli.WriteJSON(d.app.Out, f, false)
	}
	p := d.app.PaletteFor(d.app.Out)
	sign := map[mark]string{markGood: p.Good("✓"), markWarn: p.Warn("!"),
		markBad: p.Bad("✗")}[f.Mark]
	line := sign + " " + f.Text
	if f.Remedy != "" {
		line += "\n  → " + f.Remedy
	}
	_, err := fmt.Fprintln(d.app.Out, line)
	return err
}
