package operate

import (
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
	{"console-url", "`address` of the gateway with the console, for links in notices"},
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
