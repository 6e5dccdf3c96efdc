package activities

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/approvallink"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/value/display"
)

// callPath is the page of the console that shows a call.
const callPath = "/console/call?"

// checkLinks returns what is wrong with the flags about links.
func (w Webhook) checkLinks() error {
	switch {
	case w.Console == "" && w.LinkKey+w.LinkTo != "":
		return errors.New("--approval-link-key and --approval-link-to need --console-url")
	case w.Console == "":
		return nil
	}
	if !isAddress(w.Console) {
		return fmt.Errorf("--console-url %q is not an address such as https://tools.example.com",
			w.Console)
	}
	if w.LinkKey == "" {
		return nil
	}
	if _, err := approvallink.ReadKey(w.LinkKey); err != nil {
		return fmt.Errorf("--approval-link-key: %w", err)
	}
	return nil
}

// isAddress reports whether paths can be appended to a text.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && outbound.CheckURL(u) == nil && u.RawQuery == "" && u.Fragment == ""
}

// links returns the links of a notice; nil if there are none. Links that decide are left out if the
// run would not accept them: its approvers do not include whoever has a link, or a run at a limit
// needs an amount.
func (w Webhook) links(n api.Notice, now time.Time) (*api.NoticeLinks, error) {
	if w.Console == "" || n.Event == api.NoticeDecided {
		return nil, nil
	}
	root := strings.TrimSuffix(w.Console, "/")
	page := url.Values{"run": {n.WorkflowID}, "call": {n.Call}}
	links := &api.NoticeLinks{Page: root + callPath + page.Encode()}
	link := approvallink.Link{WorkflowID: n.WorkflowID, Call: n.Call, Digest: n.Digest,
		To: w.audience(), Until: min(n.Until.Unix(), now.Add(approvallink.MaxAge).Unix())}
	need := api.ApprovalNeed{Approvers: n.Approvers}
	_, missing := people.Qualify(need, api.Decision{By: link.By(), Auth: api.AuthLink})
	if w.LinkKey == "" || missing != nil || n.Limit != "" {
		return links, nil
	}
	key, err := approvallink.ReadKey(w.LinkKey)
	if err != nil {
		return nil, fmt.Errorf("the key of links on this worker: %w", err)
	}
	for kind, into := range map[api.DecisionKind]*string{api.DecisionApprove: &links.Approve,
		api.DecisionDeny: &links.Deny} {
		link.Decision = kind
		token, err := key.Token(link)
		if err != nil {
			return nil, err
		}
		*into = root + approvallink.Path + token
	}
	return links, nil
}

// audience is who reads the notices, as far as the worker knows.
func (w Webhook) audience() string {
	host := ""
	if u, err := w.address(); err == nil {
		host = u.Hostname()
	}
	return display.Shorten(cmp.Or(w.LinkTo, host), maxAudience)
}

// maxAudience bounds the name of who reads notices, in characters.
const maxAudience = 100
