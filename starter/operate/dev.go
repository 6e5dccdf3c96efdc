package operate

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

const (
	// childGrace bounds the shutdown of each child.
	childGrace = 8 * time.Second
	// workerStop is how long a stopping worker lets running calls continue.
	workerStop = "3s"
	// defaultPort is the server's port. A server for one command uses a free port.
	defaultPort = 7233
)

// devFlags are the flags of 'starter dev'.
type devFlags struct {
	files             specfiles.Flags
	devserver, worker string
	db, policies      string
	port, uiPort      int
	// workerFlags are further flags of the worker, written NAME=VALUE.
	workerFlags []string
	// skipInvalid makes the worker start with the valid toolspecs only.
	skipInvalid bool
	uiPortGiven bool
	// gateway starts an MCP gateway.
	gateway bool
}

const devHelp = `Starts a Temporal server with its Web UI, a worker and an MCP gateway for its tools on this
machine, prints their addresses, and runs until Ctrl-C. Runs are stored in memory, or in a file with
--db-filename.

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
  starter dev --worker-flag metrics-address=127.0.0.1:9090
  starter dev --worker ./bin/my-worker -- call my_tool name=Ada`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(a, cmd, args); err != nil {
				return err
			}
			if _, err := a.Connection.Storage(); err != nil {
				return err
			}
			if len(args) > 0 {
				f.gateway = f.gateway && cmd.Flags().Changed("gateway")
				if !cmd.Flags().Changed("port") {
					f.port = 0
				}
			}
			f.uiPortGiven = cmd.Flags().Changed("ui-port")
			return dev(cmd.Context(), a, &f, args)
		},
	}
	flags := cmd.Flags()
	f.files.AddFiles(flags, "that the worker serves (default ./tools if it holds toolspecs)")
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
	flags.BoolVar(&f.gateway, "gateway", true,
		"start an MCP gateway for the tools, at --port + 857; with a COMMAND only if given")
	flags.StringVar(&f.policies, "policies-file", "",
		"`file` of policies that the worker checks all calls against (default: none)")
	flags.StringArrayVar(&f.workerFlags, "worker-flag", nil,
		"further `NAME=VALUE` flag of the worker, see worker --help; repeatable")
	return cmd
}

// check rejects flags that conflict, and files with faults.
func (f *devFlags) check(a *cli.App, cmd *cobra.Command, command []string) error {
	if len(command) > 0 && cmd.ArgsLenAtDash() != 0 {
		return cli.UsageError(cmd, "unexpected argument %q; put a command to run after --",
			command[0])
	}
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
	return cmp.Or(f.checkValues(cmd), f.checkFiles(a))
}

// checkValues rejects impossible values of flags.
func (f *devFlags) checkValues(cmd *cobra.Command) error {
	for name, port := range map[string]int{"port": f.port, "ui-port": f.uiPort} {
		if port < 0 || port > math.MaxUint16 {
			return cli.UsageError(cmd, "--%s %d is not a port: 0 to %d", name, port, math.MaxUint16)
		}
	}
	for _, flag := range f.workerFlags {
		if _, _, err := cli.SplitPair(flag); err != nil {
			return cli.UsageError(cmd, "--worker-flag: %v", err)
		}
	}
	return nil
}

// checkFiles validates the worker's files before anything is started. Files with faults in an
// unnamed default tools folder are skipped with a warning.
func (f *devFlags) checkFiles(a *cli.App) error {
	f.files.UseDefault()
	set, wrong := f.files.LaneSet()
	if wrong != nil {
		set = f.files.NamedLanes()
	}
	if f.policies != "" {
		_, err := policies.Load(f.policies)
		wrong = specfiles.AllFaults(wrong, err)
	}
	_, err := f.files.LoadOn(set)
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if f.skipInvalid = ok && f.files.Assumed; wrong != nil || !f.skipInvalid {
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
}

// devStack holds the running processes. gateway is nil for none.
type devStack struct {
	logs                    string
	server, worker, gateway *child
	serverReady             serverReady
	workerReady             workerReady
	gatewayReady            gatewayReady
	// reloads gets what became of edits of toolspecs; nil where a command runs.
	reloads io.Writer
}

// dev starts everything, runs the command or waits for an interrupt, and stops everything. The logs
// are kept after a failure.
func dev(ctx context.Context, a *cli.App, f *devFlags, command []string) error {
	s := &devStack{}
	var err error
	if s.logs, err = os.MkdirTemp("", "switchyard-dev-"); err != nil {
		return err
	}
	code, err := useStack(ctx, a, s, f, command)
	s.down()
	if err != nil && ctx.Err() != nil {
		code, err = cli.ExitCancelled, nil // interrupted on the way up
	}
	if err == nil || s.server == nil {
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
	if err := s.up(ctx, f, a.Connection.Payloads); err != nil {
		return 0, err
	}
	if len(command) > 0 {
		lost := s.whileUp(ctx, func(ctx context.Context) {
			code = runAgainst(ctx, a, s, command)
		})
		return code, lost
	}
	if err := tellReady(a, s, f); err != nil {
		return 0, err
	}
	return cli.ExitDone, s.whileUp(ctx, func(ctx context.Context) { <-ctx.Done() })
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
	if err := s.worker.ready(ctx, &s.workerReady); err != nil || !f.gateway {
		return err
	}
	return s.startGateway(ctx, f, stored)
}

func (f *devFlags) serverArgs() []string {
	args := []string{"--port", strconv.Itoa(f.port), "--parent-pid", strconv.Itoa(os.Getpid())}
	if f.uiPortGiven {
		args = append(args, "--ui-port", strconv.Itoa(f.uiPort))
	}
	if f.db != "" {
		args = append(args, "--db-filename", f.db)
	}
	return args
}

func (f *devFlags) workerArgs(server serverReady, stored payloads.Config) []string {
	args := []string{"--address", server.Address, "--namespace", server.Namespace,
		"--parent-pid", strconv.Itoa(os.Getpid()), "--stop-timeout", workerStop}
	for flag, value := range map[string]string{"--tools": f.files.Dir,
		"--lanes-file": f.files.LanesPath(), "--policies-file": f.policies} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if f.skipInvalid {
		args = append(args, "--skip-invalid")
	}
	for _, flag := range f.workerFlags {
		args = append(args, "--"+flag)
	}
	return append(args, stored.Arguments()...)
}

// down stops the gateway, then the worker, which needs the server to stop, and then the server.
func (s *devStack) down() {
	for _, c := range []*child{s.gateway, s.worker, s.server} {
		if c != nil {
			c.stop(childGrace)
		}
	}
}

// whileUp calls use while the server and the worker run. If one of them exits, it cancels use's
// context with cli.ErrStackLost and returns the reason.
func (s *devStack) whileUp(ctx context.Context, use func(context.Context)) error {
	using, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	over, lost := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		select {
		case <-s.server.ended:
			err = s.server.failure("exited")
		case <-s.worker.ended:
			err = s.worker.failure("exited")
		case <-ctx.Done():
		case <-over:
		}
		if err != nil {
			lose(cli.ErrStackLost)
		}
		lost <- err
	}()
	use(using)
	close(over)
	return <-lost
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
	fmt.Fprintln(a.Err, "starter: while this command runs, other terminals reach the server with "+
		"--address "+server.Address+a.Connection.StorageFlags()+", and browsers its Web UI at "+
		server.UI)
	// Links to runs would lead to a server that stops with the command.
	args := []string{"--address", server.Address, "--namespace", server.Namespace, "--output",
		a.Format.Output, "--color", a.Format.Color}
	args = append(args, a.Connection.Payloads.Arguments()...)
	return a.Run(ctx, inner, append(args, withoutName(command)...))
}

// tellReady prints the addresses.
func tellReady(a *cli.App, s *devStack, f *devFlags) error {
	if a.Format.JSON() {
		out := map[string]any{"address": s.serverReady.Address,
			"ui": s.serverReady.UI, "namespace": s.serverReady.Namespace,
			"task_queue": s.workerReady.TaskQueue, "lanes": s.workerReady.Lanes,
			"tools": s.workerReady.Tools, "logs": s.logs}
		if s.gateway != nil {
			out["gateway"] = s.gatewayReady
		}
		return cli.WriteJSON(a.Out, out, false)
	}
	p := a.PaletteFor(a.Out)
	connect := ""
	if f.port != defaultPort {
		connect = " --address " + s.serverReady.Address
	}
	if cli.DerivedUI(s.serverReady.Address) != s.serverReady.UI {
		connect += " --ui-address " + s.serverReady.UI
	}
	fmt.Fprintf(a.Out, "%s  %s, namespace %s, runs stored in %s\n", p.Bold("server"),
		s.serverReady.Address, s.serverReady.Namespace, cmp.Or(f.db, "memory"))
	fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("Web UI"), s.serverReady.UI)
	fmt.Fprintf(a.Out, "%s  lanes %s; tools %s\n", p.Bold("worker"),
		strings.Join(s.workerReady.Lanes, ", "), nameSome(s.workerReady.Tools))
	if g := s.gatewayReady; g.Endpoint != "" {
		fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("inbox "), g.Console)
		fmt.Fprintf(a.Out, "%s  %s; claude mcp add --transport http switchyard %s\n",
			p.Bold("MCP   "), g.Endpoint, g.Endpoint)
	}
	fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("logs  "), s.logs)
	return a.Println("\nIn another terminal: " + a.Connection.Program() + connect +
		a.Connection.StorageFlags() + " call echo text=hello\nCtrl-C stops everything.")
}

// maxShownTools is how many tools the line of the worker names.
const maxShownTools = 6

// nameSome names some tools and counts the others.
func nameSome(tools []string) string {
	shown := strings.Join(tools[:min(len(tools), maxShownTools)], ", ")
	if left := len(tools) - maxShownTools; left > 0 {
		shown += fmt.Sprintf(" and %d more", left)
	}
	return shown
}

// tellReload prints what became of an edit of toolspecs. line is of the worker.
func (s *devStack) tellReload(line []byte) {
	var r struct {
		Event   folder.CatalogEventType `json:"event"`
		Tool    string                  `json:"tool"`
		Version string                  `json:"version"`
		File    string                  `json:"file"`
		Error   string                  `json:"error"`
	}
	if s.reloads == nil || json.Unmarshal(line, &r) != nil {
		return
	}
	words := map[folder.CatalogEventType]string{folder.ToolAdded: "is added",
		folder.ToolUpdated: "is reloaded", folder.ToolRemoved: "is removed"}[r.Event]
	switch {
	case r.Event == folder.LoadError:
		fmt.Fprintf(s.reloads, "starter: %s is not in effect; what was valid stays:\n%s\n", r.File,
			r.Error)
	case words != "":
		fmt.Fprintf(s.reloads, "starter: the tool %s %s %s (%s)\n", r.Tool, r.Version, words,
			r.File)
	}
}
