package operate

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"

	"github.com/switchyard/switchyard/payloads"
	"github.com/switchyard/switchyard/starter/cli"
)

// gatewayAbove is the distance of the gateway's port from the server's: 8090 and 7233.
const gatewayAbove = 857

// gatewayReady is the gateway's output when it is ready, or the reason why it is not.
type gatewayReady struct {
	Endpoint string `json:"endpoint"`
	Operator string `json:"operator"`
	Console  string `json:"console"`
	Error    string `json:"error,omitempty"`
}

// startGateway starts a gateway and returns when it is ready.
func (s *devStack) startGateway(ctx context.Context, f *devFlags, stored payloads.Config) error {
	own, err := os.Executable()
	if err != nil {
		return err
	}
	if s.gateway, err = launch("gateway", own, s.logs, nil,
		append(f.gatewayArgs(s.serverReady), stored.Arguments()...)...); err != nil {
		return cli.Errorf(cli.ExitFailed, "cannot start the gateway: %w", err)
	}
	err = s.gateway.ready(ctx, &s.gatewayReady)
	if err == nil && s.gatewayReady.Endpoint == "" {
		err = fmt.Errorf("%s", s.gatewayReady.Error)
	}
	if err != nil && ctx.Err() == nil {
		return cli.Errorf(cli.ExitFailed, "the gateway did not start: %w\nIts port is %d above "+
			"--port; --gateway=false starts none", err, gatewayAbove)
	}
	return err
}

// gatewayArgs returns the command line of the gateway.
func (f *devFlags) gatewayArgs(server serverReady) []string {
	port := 0
	if f.port != 0 {
		port = min(f.port+gatewayAbove, math.MaxUint16)
	}
	args := []string{"gateway", "--address", server.Address, "--namespace", server.Namespace,
		"--output", "json", "--console", "--no-login", "--drain", "1s", "--listen",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), "--ui-address", server.UI}
	for flag, value := range map[string]string{"--tools": f.files.Dir,
		"--lanes-file": f.files.LanesPath()} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	if f.skipInvalid {
		args = append(args, "--skip-invalid")
	}
	return args
}
