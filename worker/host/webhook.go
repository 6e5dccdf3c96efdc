package host

import (
	"flag"
	"fmt"

	"github.com/switchyard/switchyard/activities"
)

// webhookFlags are the flags about notices of approvals.
type webhookFlags struct{ url, secret, format, console, linkKey, linkTo string }

func (f *webhookFlags) register(set *flag.FlagSet) {
	set.StringVar(&f.url, "approval-webhook", "",
		"`URL`, or env:NAME, notified of calls waiting for approval (default none)")
	set.StringVar(&f.secret, "approval-webhook-secret", "",
		"`env:NAME` or file:/path of the secret that signs webhook requests")
	set.StringVar(&f.format, "approval-webhook-format", "",
		"`format` of notices: json, slack, teams or template:FILE (default json)")
	set.StringVar(&f.console, "console-url", "",
		"`address` of the gateway with the console, for links in notices (default no links)")
	set.StringVar(&f.linkKey, "approval-link-key", "",
		"`env:NAME` or file:/path of the key, shared with the gateway, that signs links which "+
			"approve and deny (default no such links)")
	set.StringVar(&f.linkTo, "approval-link-to", "",
		"`name` of who reads the notices, recorded with decisions by link (default the host of "+
			"--approval-webhook)")
}

func (f *webhookFlags) apply(c *Config) {
	override(&c.ApprovalWebhook, f.url)
	override(&c.ApprovalWebhookSecret, f.secret)
	override(&c.ApprovalWebhookFormat, f.format)
	override(&c.ConsoleURL, f.console)
	override(&c.ApprovalLinkKey, f.linkKey)
	override(&c.ApprovalLinkTo, f.linkTo)
}

func (c Config) webhook() activities.Webhook {
	return activities.Webhook{URL: c.ApprovalWebhook, Secret: c.ApprovalWebhookSecret,
		Format: c.ApprovalWebhookFormat, Console: c.ConsoleURL, LinkKey: c.ApprovalLinkKey,
		LinkTo: c.ApprovalLinkTo}
}

func (c Config) webhookFault() error {
	if err := c.webhook().Check(); err != nil {
		return fmt.Errorf("approval webhook: %w", err)
	}
	return nil
}
