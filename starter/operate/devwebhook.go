package operate

import (
	"net"
	"strconv"

	"github.com/spf13/pflag"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/starter/cli"
)

// webhookFlags are the flags of the worker about notices of approvals, by name.
type webhookFlags map[string]*string

// webhookUsage describes the flags.
var webhookUsage = []struct{ flag, usage string }{
	{"approval-webhook",
		"`URL`, or env:NAME, that the worker notifies of calls that wait for approval (default: none)"},
	{"approval-webhook-secret",
		"env:NAME or file:/path of the `secret` that signs webhook requests"},
	{"approval-webhook-format",
		"`format` of notices: json, slack, teams or template:FILE (default: json)"},
	{"console-url", "`address` of the gateway with the console, for links in notices (default: that of dev)"},
	{"approval-link-key",
		"env:NAME or file:/path of the `key`, shared with the gateway, of links that approve and deny"},
	{"approval-link-to", "`name` of who reads the notices, recorded with decisions by link"},
}

func (f *webhookFlags) register(set *pflag.FlagSet) {
	*f = webhookFlags{}
	for _, w := range webhookUsage {
		(*f)[w.flag] = set.String(w.flag, "", w.usage)
	}
}

// check rejects references to missing secrets. The worker checks the rest.
func (f webhookFlags) check() error {
	for _, flag := range []string{"approval-webhook", "approval-webhook-secret",
		"approval-link-key"} {
		if outbound.CheckSecret(*f[flag]) != nil {
			continue
		}
		if _, err := outbound.SecretHere(*f[flag]); err != nil {
			return cli.Errorf(cli.ExitUsage, "--%s: %w", flag, err)
		}
	}
	return nil
}

// args returns the flags of the worker.
func (f webhookFlags) args() []string {
	var args []string
	for _, w := range webhookUsage {
		if value := *f[w.flag]; value != "" {
			args = append(args, "--"+w.flag, value)
		}
	}
	return args
}

// linkToGateway has notices link to the console that dev serves, if they are to have links that
// decide and no other console is named.
func (f *devFlags) linkToGateway() error {
	if *f.webhook["approval-link-key"] == "" || *f.webhook["console-url"] != "" || !f.gateway {
		return nil
	}
	if f.gatewayPort == 0 { // the worker starts before the gateway and has to know its address
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		f.gatewayPort = free.Addr().(*net.TCPAddr).Port
		if err := free.Close(); err != nil {
			return err
		}
	}
	*f.webhook["console-url"] = "http://" + net.JoinHostPort("127.0.0.1",
		strconv.Itoa(f.gatewayPort))
	return nil
}
