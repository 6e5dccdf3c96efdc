package operate

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
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
	files     specfiles.Flags
	// lanes are the lanes that should have workers.
	lanes  *lanes.Set
	failed bool
	// unusable is set if no further check is possible.
	unusable bool
}

const doctorHelp = `Checks whether the server answers, whether the namespace, its retention and the search attributes
are as they should be, which lanes have no worker, who holds the slots of lanes with a limit, and on
which version new runs start. Asks every worker for faults in its folder of toolspecs and for its
policies.

With --gateway it checks gateways instead, from outside, as a client does: readiness, encryption,
foreign web pages, clients without credentials, the metadata for clients, and the list of tools,
with the API key in SWITCHYARD_API_KEY.

The exit code is 1 if there is a problem and 4 if no server answers.`

func doctorCommand(a *cli.App) *cobra.Command {
	d := &doctor{app: a}
	var gateways []string
	cmd := &cobra.Command{
		Use: "doctor", GroupID: cli.GroupServer,
		Short: "Check the server and its workers",
		Long:  doctorHelp,
		Example: `  starter doctor
  starter doctor --lanes-file lanes.yaml
  starter doctor --gateway http://127.0.0.1:8090/mcp`,
		Args: cli.Arguments(0),
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if len(gateways) > 0 {
				return checkGateways(cmd.Context(), a, gateways)
			}
			if d.lanes, err = d.files.LaneSet(); err != nil {
				return err
			}
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				d.client, d.namespace = c, a.Connection.ResolvedNamespace
				return d.examine(ctx)
			})
		},
	}
	d.files.AddLanesFile(cmd.Flags())
	cmd.Flags().StringVarP(&d.queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the workers")
	cmd.Flags().StringSliceVar(&gateways, "gateway", nil,
		"`URL` of a gateway, such as http://HOST:PORT/mcp; repeat it for replicas")
	return cmd
}

// examine prints findings as they arrive. The exit code is 1 if one is a problem.
func (d *doctor) examine(ctx context.Context) error {
	for _, step := range []func(context.Context) ([]finding, error){d.server, d.codec,
		d.namespaces, d.attributes, d.workers, d.versions, d.laneStates, d.catalogs} {
		findings, err := step(ctx)
		if err != nil {
			return err
		}
		if err := d.print(findings...); err != nil {
			return err
		}
		if d.unusable {
			break
		}
	}
	return d.result()
}

func (d *doctor) result() error {
	if d.failed {
		return cli.Exit(cli.ExitFailed)
	}
	return nil
}

func (d *doctor) print(findings ...finding) error {
	p := d.app.PaletteFor(d.app.Out)
	signs := map[mark]string{markGood: p.Good("✓"), markWarn: p.Warn("!"), markBad: p.Bad("✗")}
	if d.app.Format.JSON() {
		if err := cli.WriteJSONLines(d.app.Out, findings); err != nil {
			return err
		}
	}
	for _, f := range findings {
		d.failed = d.failed || f.Mark == markBad
		if d.app.Format.JSON() {
			continue
		}
		line := signs[f.Mark] + " " + f.Text
		if f.Remedy != "" {
			line += "\n  → " + f.Remedy
		}
		if _, err := fmt.Fprintln(d.app.Out, line); err != nil {
			return err
		}
	}
	return nil
}
