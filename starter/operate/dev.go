package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

const (
	// workerGrace and serverGrace bound the shutdown of the children.
	workerGrace = 8 * time.Second
	serverGrace = 8 * time.Second
	// workerStop is how long a stopping worker lets running calls continue.
	workerStop = "3s"
	// defaultPort is the server's port. A server for one command uses a free port.
	defaultPort = 7233
)

// devFlags are the flags of 'starter dev'.
type devFlags struct {
	catalog           specfiles.Flags
	devserver, worker string
	db, stateDir, dir string
	queue, metrics    string
	policies          string
	webhook           webhookFlags
	port, uiPort      int
	headless          bool
	// skipInvalid makes the worker start with the valid toolspecs only.
	skipInvalid bool
	uiPortGiven bool
	// gateway starts an MCP gateway at gatewayPort.
	gateway     bool
	gatewayPort int
}

const devHelp = `Starts a Temporal server with its Web UI, a worker and an MCP gateway for its tools on this
machine, prints their addresses, and runs until Ctrl-C. Runs are stored in memory, or in a file with
--db-filename. A worker that exits is restarted.

A starter command after -- runs against that server, without a gateway unless --gateway is given.
Afterwards everything is stopped, and the exit code is that of the command. No process is left
running.`

func devCommand(a *cli.App) *cobra.Command {
	var f devFlags
	cmd := &cobra.Command{
		Use: "dev [-- COMMAND…]", GroupID: cli.GroupServer,
		Short: "Start a server, its Web UI and a worker on this machine", Long: devHelp,
		Example: `  starter dev
  starter dev --db-filename .switchyard/dev.db --tools ./tools
  starter dev -- run agent.yaml "How many files are here?"
  starter dev --worker ./bin/my-worker -- call my_tool name=Ada`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return cli.UsageError(cmd, "unexpected argument %q; put a command to run after --",
					args[0])
			}
			if err := f.check(cmd, args); err != nil {
				return err
			}
			if err := checkServed(a, &f); err != nil {
				return err
			}
			if _, err := a.Connection.Storage(); err != nil {
				return err
			}
			if len(args) > 0 && !cmd.Flags().Changed("port") {
				f.port = 0
			}
			f.uiPortGiven = cmd.Flags().Changed("ui-port")
			f.defaultGateway(cmd, len(args) > 0)
			return dev(cmd.Context(), a, &f, args)
		},
	}
	flags := cmd.Flags()
	f.catalog.Add(flags, "that the worker serves (default ./tools if it holds toolspecs)")
	flags.StringVar(&f.devserver, "devserver", "",
		"`path` of the server program (default: beside starter, then on the PATH)")
	flags.StringVar(&f.worker, "worker", "",
		"`path` of a worker program of your own (default: beside starter, then on the PATH)")
	flags.StringVar(&f.db, "db-filename", "",
		"SQLite `file` that stores the runs (default: in memory)")
	flags.IntVar(&f.port, "port", defaultPort,
		"`port` of the server; 0 selects a free port, which is the default with a COMMAND")
	flags.IntVar(&f.uiPort, "ui-port", 0,
		"`port` of the Web UI; 0 selects a free port (default: --port + 1000)")
	flags.BoolVar(&f.headless, "headless", false, "no Web UI")
	f.addGateway(flags)
	flags.StringVarP(&f.queue, "task-queue", "t", api.DefaultTaskQueue,
		"task `queue` of the worker")
	flags.StringVar(&f.dir, "dir", "", "base `folder` of relative working folders of command tools and MCP servers")
	flags.StringVar(&f.policies, "policies-file", "",
		"`file` of policies that the worker checks all calls against (default: none)")
	f.webhook.register(flags)
	flags.StringVar(&f.metrics, "metrics-address", "",
		"`host:port` where the worker serves /metrics (default: none)")
	flags.StringVar(&f.stateDir, "state-dir", "",
		"`folder` of the logs (default: a temporary folder, kept after a failure)")
	return cmd
}

// check rejects flags that conflict.
func (f *devFlags) check(cmd *cobra.Command, command []string) error {
	// The flags of the server do not apply, because this command starts its own server.
	for _, name := range append(connection.Names(), "ui-address") {
		if cmd.Flags().Changed(name) {
			return cli.UsageError(cmd,
				"--%s selects a server, but dev starts its own; remove the flag", name)
		}
	}
	if words := withoutName(command); len(words) > 0 && words[0] == cmd.Name() {
		return cli.UsageError(cmd, "dev cannot run itself as its command")
	}
	for name, port := range map[string]int{"port": f.port, "ui-port": f.uiPort,
		"gateway-port": f.gatewayPort} {
		if port < 0 || port > math.MaxUint16 {
			return cli.UsageError(cmd, "--%s %d is not a port: 0 to %d", name, port, math.MaxUint16)
		}
	}
	return cmp.Or(f.webhook.check(), f.catalog.Check(cmd))
}

// checkServed validates the worker's files before anything is started. Files with faults in an
// unnamed default tools folder are skipped with a warning.
func checkServed(a *cli.App, f *devFlags) error {
	f.catalog.UseDefault()
	set, wrong := f.catalog.LaneSet()
	if wrong != nil {
		set = f.catalog.NamedLanes()
	}
	if f.policies != "" {
		_, err := policies.Load(f.policies)
		wrong = specfiles.AllFaults(wrong, err)
	}
	_, err := f.catalog.LoadOn(set)
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if f.skipInvalid = ok && f.catalog.Assumed; wrong != nil || !f.skipInvalid {
		return specfiles.AllFaults(wrong, err)
	}
	for _, fault := range faults {
		fmt.Fprintln(a.Err, fault)
	}
	fmt.Fprintf(a.Err, "starter: %s: its tools are served once the faults are fixed\n",
		specfiles.WhereFaults(faults))
	return nil
}

// serverReady and workerReady are the children's output when they are ready.
type serverReady struct {
	Address   string `json:"address"`
	UI        string `json:"ui,omitempty"`
	Namespace string `json:"namespace"`
}

type workerReady struct {
	TaskQueue string   `json:"task_queue"`
	Lanes     []string `json:"lanes"`
	Tools     []string `json:"tools"`
	Metrics   string   `json:"metrics,omitempty"`
}

// devStack holds the running processes.
type devStack struct {
	logs           string
	server, worker *child
	serverReady    serverReady
	workerReady    workerReady
	gateway        *devGateway
	// reloads gets what became of edits of toolspecs; nil where a command runs.
	reloads io.Writer
}

// dev starts everything, runs the command or waits for an interrupt, and stops everything.
func dev(ctx context.Context, a *cli.App, f *devFlags, command []string) error {
	s := &devStack{}
	if err := s.openLogs(f.stateDir); err != nil {
		return cli.Errorf(cli.ExitUsage, "--state-dir: %w", err)
	}
	code, err := useStack(ctx, a, s, f, command)
	s.down()
	if err != nil && ctx.Err() != nil {
		code, err = cli.ExitCancelled, nil // interrupted on the way up
	}
	if (err == nil || s.server == nil) && f.stateDir == "" {
		err = cmp.Or(err, os.RemoveAll(s.logs)) // nothing failed that the logs could explain
	}
	if err != nil {
		return err
	}
	return cli.Exit(code)
}

// useStack starts the stack and uses it. code is the command's exit code, if any. The stack may
// still run afterwards.
func useStack(ctx context.Context, a *cli.App, s *devStack, f *devFlags,
	command []string) (code int, err error) {
	if len(command) == 0 {
		s.reloads = a.Err
	}
	if err := f.linkToGateway(); err != nil {
		return 0, err
	}
	if err := s.up(ctx, f, a.Connection.Payloads); err != nil {
		return 0, err
	}
	if f.gateway {
		if s.gateway, err = startGateway(ctx, a, s, f); err != nil {
			return 0, err
		}
	}
	if len(command) > 0 {
		lost := s.whileKept(ctx, a.Err, func(ctx context.Context) {
			code = runAgainst(ctx, a, s, command)
		})
		return code, cmp.Or(tellKept(a, s.serverReady, f), lost)
	}
	if err := tellReady(a, s, f); err != nil {
		return 0, err
	}
	return cli.ExitDone, s.whileKept(ctx, a.Err, func(ctx context.Context) { <-ctx.Done() })
}

func (s *devStack) openLogs(dir string) (err error) {
	if dir == "" {
		s.logs, err = os.MkdirTemp("", "switchyard-dev-")
		return err
	}
	if s.logs, err = filepath.Abs(dir); err != nil {
		return err
	}
	return os.MkdirAll(s.logs, 0o700)
}

// up starts the server and then the worker, and returns when both are ready.
func (s *devStack) up(ctx context.Context, f *devFlags, stored payloads.Config) error {
	serverPath, err := findProgram("devserver", f.devserver)
	if err != nil {
		return err
	}
	workerPath, err := findProgram("worker", f.worker)
	if err != nil {
		return err
	}
	if s.server, err = launch("devserver", serverPath, s.logs, nil, f.serverArgs()...); err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot start the server: %w", err)
	}
	if err := s.server.ready(ctx, &s.serverReady); err != nil {
		if ctx.Err() == nil {
			err = cli.Errorf(cli.ExitFailed,
				"%w\nChoose other ports with --port and --ui-port; 0 selects a free one", err)
		}
		return err
	}
	if s.worker, err = launch("worker", workerPath, s.logs, s.tellReload,
		f.workerArgs(s.serverReady, stored)...); err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot start the worker: %w", err)
	}
	return s.worker.ready(ctx, &s.workerReady)
}

func (f *devFlags) serverArgs() []string {
	args := []string{"--port", strconv.Itoa(f.port), "--parent-pid", strconv.Itoa(os.Getpid())}
	if f.uiPortGiven {
		args = append(args, "--ui-port", strconv.Itoa(f.uiPort))
	}
	if f.headless {
		args = append(args, "--headless")
	}
	if f.db != "" {
		args = append(args, "--db-filename", f.db)
	}
	return args
}

func (f *devFlags) workerArgs(server serverReady, stored payloads.Config) []string {
	args := []string{"--address", server.Address, "--namespace", server.Namespace, "--task-queue",
		f.queue,
		"--parent-pid", strconv.Itoa(os.Getpid()), "--stop-timeout", workerStop}
	for flag, value := range map[string]string{"--tools": f.catalog.Dir,
		"--lanes-file": f.catalog.LanesPath(), "--policies-file": f.policies, "--dir": f.dir,
		"--metrics-address": f.metrics} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	args = append(append(args, f.webhook.args()...), stored.Arguments()...)
	if f.skipInvalid {
		args = append(args, "--skip-invalid")
	}
	if len(f.catalog.Lanes) > 0 {
		args = append(args, "--lanes", strings.Join(f.catalog.AllLanes(), ","))
	}
	return args
}

// down stops the gateway, then the worker, which needs the server to stop, and then the server.
func (s *devStack) down() {
	s.gateway.stop()
	if s.worker != nil {
		s.worker.stop(workerGrace)
	}
	if s.server != nil {
		s.server.stop(serverGrace)
	}
}

// withoutName removes a leading program name, which users may type out of habit.
func withoutName(command []string) []string {
	if len(command) > 0 && filepath.Base(command[0]) == cli.ProgramName {
		return command[1:]
	}
	return command
}

// runAgainst executes one starter command line against the development server.
func runAgainst(ctx context.Context, a *cli.App, s *devStack, command []string) int {
	server := s.serverReady
	inner := &cli.App{Stdio: a.Stdio, Again: a.Again, Run: a.Run, Served: s.workerReady.Tools}
	inner.Connection.Local = true
	tell := "starter: while this command runs, other terminals reach the server with --address " +
		server.Address + a.Connection.StorageFlags()
	if server.UI != "" {
		tell += ", and browsers its Web UI at " + server.UI
	}
	fmt.Fprintln(a.Err, tell)
	// Links to runs would lead to a server that stops with the command; see tellKept.
	args := []string{"--address", server.Address, "--namespace", server.Namespace, "--output",
		a.Format.Output, "--color", a.Format.Color}
	args = append(args, a.Connection.Payloads.Arguments()...)
	return a.Run(ctx, inner, append(args, withoutName(command)...))
}
