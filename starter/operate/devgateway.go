package operate

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/starter/cli"
)

// gatewayAbove is the default distance of the gateway's port from the server's: 8090 and 7233.
const gatewayAbove = 857

// gatewayStop bounds the shutdown of the gateway.
const gatewayStop = 5 * time.Second

// gatewayReady is the gateway's output when it is ready.
type gatewayReady struct {
	Endpoint string `json:"endpoint"`
	Operator string `json:"operator"`
	Console  string `json:"console"`
}

// devGateway is a gateway in this process, for the tools of the worker.
type devGateway struct {
	cancel context.CancelFunc
	// ended is closed when it has ended.
	ended chan struct{}
	ready gatewayReady
	log   string
}

// addGateway adds the flags of the gateway.
func (f *devFlags) addGateway(flags *pflag.FlagSet) {
	flags.BoolVar(&f.gateway, "gateway", true,
		"start an MCP gateway for the tools; with a COMMAND only if given")
	flags.IntVar(&f.gatewayPort, "gateway-port", 0,
		"`port` of the MCP gateway; 0 selects a free port (default: --port + 857)")
}

// gatewayArgs returns the command line of the gateway.
func (f *devFlags) gatewayArgs(server serverReady, stored []string) []string {
	args := []string{"--address", server.Address, "--namespace", server.Namespace, "--output",
		"json", "gateway", "--console", "--no-login", "--task-queue", f.queue, "--drain", "1s",
		"--listen",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(f.gatewayPort))}
	for flag, value := range map[string]string{"--tools": f.catalog.Dir,
		"--lanes-file": f.catalog.LanesPath(), "--ui-address": server.UI} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if key := *f.webhook["approval-link-key"]; key != "" {
		args = append(args, "--approval-link-key", key)
	}
	if f.skipInvalid {
		args = append(args, "--skip-invalid")
	}
	if len(f.catalog.Lanes) > 0 {
		args = append(args, "--lanes", strings.Join(f.catalog.AllLanes(), ","))
	}
	return append(args, stored...)
}

// defaultGateway decides whether a gateway is started, and at which port, where flags do not.
func (f *devFlags) defaultGateway(cmd *cobra.Command, command bool) {
	if command && !cmd.Flags().Changed("gateway") {
		f.gateway = false
	}
	if f.port != 0 && !cmd.Flags().Changed("gateway-port") {
		f.gatewayPort = min(f.port+gatewayAbove, math.MaxUint16)
	}
}

// startGateway starts a gateway and returns when it is ready. Its messages are in the logs.
func startGateway(ctx context.Context, a *cli.App, s *devStack, f *devFlags) (*devGateway, error) {
	g := &devGateway{ended: make(chan struct{}), log: filepath.Join(s.logs, "gateway.log")}
	log, err := os.Create(g.log)
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	inner := &cli.App{Stdio: cli.Stdio{In: bytes.NewReader(nil), Out: in, Err: log}, Run: a.Run}
	inner.Connection.Local = true
	ctx, g.cancel = context.WithCancel(ctx)
	args := f.gatewayArgs(s.serverReady, a.Connection.Payloads.Arguments())
	go func() {
		defer close(g.ended)
		a.Run(ctx, inner, args)
		_ = in.Close()
		_ = log.Close()
	}()
	lines := bufio.NewReader(out)
	line, _ := lines.ReadBytes('\n')
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	var first struct {
		gatewayReady
		Error string `json:"error"`
	}
	if json.Unmarshal(line, &first) == nil && first.Endpoint != "" {
		g.ready = first.gatewayReady
		return g, nil
	}
	g.stop()
	return nil, cli.Errorf(cli.ExitFailed, "the gateway did not start: %s\n--gateway-port selects "+
		"another port, and 0 a free one; --gateway=false starts none",
		cmp.Or(first.Error, g.lastLog()))
}

// whenEnded returns a channel that is closed when the gateway has ended; nil if there is none.
func (g *devGateway) whenEnded() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.ended
}

// lastLog returns the last lines of the gateway's log.
func (g *devGateway) lastLog() string {
	lines := readTail(g.log)
	return strings.Join(lines[max(len(lines)-shownLines, 0):], "\n")
}

// stop ends the gateway. It may be nil.
func (g *devGateway) stop() {
	if g == nil {
		return
	}
	g.cancel()
	select {
	case <-g.ended:
	case <-time.After(gatewayStop):
	}
}

// tell prints the address of the gateway and how a client is connected.
func (g *devGateway) tell(a *cli.App) {
	if g == nil {
		return
	}
	p := a.PaletteFor(a.Out)
	fmt.Fprintf(a.Out, "%s  %s\n", p.Bold("inbox "), g.ready.Console)
	fmt.Fprintf(a.Out, "%s  %s; claude mcp add --transport http switchyard %s\n",
		p.Bold("MCP   "), g.ready.Endpoint, g.ready.Endpoint)
}
