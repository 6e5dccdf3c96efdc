package activities

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/approvallink"
)

// hostile is a text of a tool that tries to be a link, a mention and a control sequence.
const hostile = "<https://evil.example|Approve> <!channel> [Approve](https://evil.example) *b*\n" +
	`"quoted" & more`

// linked is a webhook whose notices have links.
func linked(t *testing.T, format string) Webhook {
	t.Helper()
	t.Setenv("LINK_KEY", "planted-key-of-16")
	t.Setenv("HOOK_SECRET", planted)
	w := Webhook{URL: "https://hooks.example.com/services/planted", Secret: "env:HOOK_SECRET",
		Console: "https://tools.example.org/", LinkKey: "env:LINK_KEY", Format: format}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	return w
}

func noticed() api.Notice {
	return api.Notice{Event: api.NoticeWaiting, WorkflowID: "run", Call: "1.1", Tool: "pay",
		Text: hostile, Reason: "every call of pay needs approval", Digest: "d",
		Until: time.Now().Add(time.Hour)}
}

// Links are signed for exactly this call, expire with its approval or after a week, and are left
// out where the run would not accept them.
func TestLinks_AreForTheCallAndItsTime(t *testing.T) {
	w := linked(t, "")
	key, err := approvallink.ReadKey("env:LINK_KEY")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	named := api.Approver{Name: "ada"}
	anyone := api.Approver{Auth: api.AuthLink}
	within := func(rules ...api.ApproverRule) func(*api.Notice) {
		return func(n *api.Notice) { n.Approvers = rules }
	}
	for name, tt := range map[string]struct {
		change func(*api.Notice)
		until  time.Time
		page   bool
	}{
		"an hour": {within(), now.Add(time.Hour), true},
		"a year": {func(n *api.Notice) { n.Until = now.Add(8760 * time.Hour) },
			now.Add(approvallink.MaxAge), true},
		"decided":   {func(n *api.Notice) { n.Event = api.NoticeDecided }, time.Time{}, false},
		"a limit":   {func(n *api.Notice) { n.Limit = "calls" }, time.Time{}, true},
		"approvers": {within(of(named)), time.Time{}, true},
		"links too": {within(of(named, anyone)), now.Add(time.Hour), true},
		"two rules": {within(of(anyone), of(named)), time.Time{}, true},
	} {
		n := noticed()
		tt.change(&n)
		links, err := w.links(n, now)
		if err != nil || (links != nil) != tt.page || links != nil && links.Page !=
			"https://tools.example.org/console/call?call=1.1&run=run" {
			t.Fatalf("%s: %+v, %v", name, links, err)
		}
		if tt.until.IsZero() {
			if links != nil && links.Approve+links.Deny != "" {
				t.Errorf("%s: %+v", name, links)
			}
			continue
		}
		for kind, address := range map[api.DecisionKind]string{api.DecisionApprove: links.Approve,
			api.DecisionDeny: links.Deny} {
			token, ok := strings.CutPrefix(address, "https://tools.example.org/console/link/")
			got, err := key.Read(token, now)
			want := approvallink.Link{WorkflowID: "run", Call: "1.1", Digest: "d", Decision: kind,
				To: "hooks.example.com", Until: tt.until.Unix()}
			if !ok || err != nil || got != want {
				t.Errorf("%s: %+v, want %+v, %v", name, got, want, err)
			}
		}
	}
}

func of(any ...api.Approver) api.ApproverRule { return api.ApproverRule{Any: any} }

// checkSlack checks a message against the reference of Block Kit
// (docs.slack.dev/reference/block-kit): types, required fields and limits.
func checkSlack(t *testing.T, body []byte) {
	t.Helper()
	type text struct {
		Type, Text string
		Emoji      *bool
	}
	var m struct {
		Text        string
		UnfurlLinks *bool `json:"unfurl_links"`
		Blocks      []struct {
			Type     string
			Text     *text
			Elements []text
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Text == "" || m.UnfurlLinks == nil || *m.UnfurlLinks || len(m.Blocks) == 0 ||
		len(m.Blocks) > 50 {
		t.Errorf("the message is %s", body)
	}
	within := func(x text, limit int) {
		n := utf8.RuneCountInString(x.Text)
		if n < 1 || n > limit || x.Type != "plain_text" && (x.Type != "mrkdwn" || x.Emoji != nil) ||
			x.Type == "mrkdwn" && strings.Contains(x.Text, "evil") {
			t.Errorf("a text of %d characters: %+v", n, x)
		}
	}
	for _, b := range m.Blocks {
		switch {
		case b.Type == "header" && b.Text != nil && b.Text.Type == "plain_text":
			within(*b.Text, 150)
		case b.Type == "section" && b.Text != nil:
			within(*b.Text, 3000)
		case b.Type == "context" && len(b.Elements) > 0 && len(b.Elements) <= 10:
			within(b.Elements[0], 3000)
		default:
			t.Errorf("a block is %+v", b)
		}
	}
}

// checkTeams checks a message against what Teams' Workflows take (a message whose attachment is an
// Adaptive Card) and the schema of Adaptive Cards 1.4: types and required fields.
func checkTeams(t *testing.T, body []byte) {
	t.Helper()
	var m struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Schema, Type, Version string
				Body                  []struct {
					Type    string
					Inlines []struct{ Type, Text, Weight, Size string }
				}
				Actions []struct{ Type, Title, URL string }
			}
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Type != "message" || len(m.Attachments) != 1 || len(body) > 28<<10 ||
		m.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		t.Fatalf("the message is %s", body)
	}
	card := m.Attachments[0].Content
	if card.Type != "AdaptiveCard" || card.Version != "1.4" || len(card.Body) == 0 ||
		len(card.Actions) > 6 {
		t.Errorf("the card is %+v", card)
	}
	for _, b := range card.Body {
		if b.Type != "RichTextBlock" || len(b.Inlines) != 1 || b.Inlines[0].Type != "TextRun" ||
			!slices.Contains([]string{"", "Bolder"}, b.Inlines[0].Weight) ||
			!slices.Contains([]string{"", "Small", "Medium"}, b.Inlines[0].Size) {
			t.Errorf("a block is %+v", b)
		}
	}
	for _, a := range card.Actions {
		if a.Type != "Action.OpenUrl" || a.Title == "" || !strings.HasPrefix(a.URL,
			"https://tools.example.org/console/") {
			t.Errorf("an action is %+v", a)
		}
	}
}

// Messages for Slack and Teams keep to the published formats, whatever a tool's text says, and for
// every event.
func TestFormats_KeepToSlackAndTeams(t *testing.T) {
	long := noticed()
	long.Text, long.Reason = strings.Repeat("ä", 4000), strings.Repeat("x", 4000)
	long.WorkflowID = strings.Repeat("w", 900)
	decided := noticed()
	decided.Event = api.NoticeDecided
	decided.Decided = &api.NoticeDecision{Decision: api.DecisionDeny, By: "bob",
		Auth: api.AuthOIDC, Reason: "no"}
	limit := noticed()
	limit.Tool, limit.Limit = "", "calls"
	limit.Approvers = []api.ApproverRule{of(api.Approver{Name: "ada"})}
	for i, n := range []api.Notice{noticed(), long, decided, limit} {
		for format, check := range map[string]func(*testing.T, []byte){formatSlack: checkSlack,
			formatTeams: checkTeams} {
			w := linked(t, format)
			var err error
			if n.Links, err = w.links(n, time.Now()); err != nil {
				t.Fatal(err)
			}
			body, err := w.body(n)
			if err != nil {
				t.Fatal(err)
			}
			check(t, body)
			buttons := 3 - 2*min(i/3, 1)
			if i == 2 {
				buttons = 0
			}
			if got := strings.Count(string(body), "https://tools.example.org/console/"); got !=
				buttons {
				t.Errorf("notice %d for %s has %d links, want %d", i, format, got, buttons)
			}
		}
	}
}

// A template writes the JSON of any service, such as one that sends mail. One that writes no JSON
// is a fault of the configuration.
func TestTemplate_WritesTheBody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mail.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"to": "approvers@example.org", "subject": {{json (title .)}},
"text": {{json (printf "%s\n%s" .Text (details .))}}
{{with .Links}}, "approve": {{json .Approve}}{{end}}}`)
	w := linked(t, formatTemplate+file)
	n := noticed()
	n.Until = time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	n.Links = &api.NoticeLinks{Approve: "https://tools.example.org/console/link/x"}
	body, err := w.body(n)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]string
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"to": "approvers@example.org",
		"subject": "Approval needed: pay (run 1.1)", "approve": n.Links.Approve,
		"text": hostile + "\nevery call of pay needs approval\nopen until 2026-02-01 09:00 UTC"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	for text, want := range map[string]string{
		`{"text": {{.Text}}}`: file + " does not write JSON; write texts as {{json .Text}}",
		`{"text": {{.Txt}}}`:  "executing",
		`{{`:                  "unclosed",
	} {
		write(text)
		if err := w.Check(); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Configurations whose links nobody could use are refused.
func TestWebhook_RefusesUselessLinks(t *testing.T) {
	good := linked(t, "")
	for want, change := range map[string]func(*Webhook){
		"--approval-link-key and --approval-link-to need --console-url": func(w *Webhook) {
			w.Console = ""
		},
		`--console-url "tools" is not an address such as https://tools.example.com`: func(
			w *Webhook) {
			w.Console = "tools"
		},
		"--approval-link-key: the key has 5 characters; use 16 or more": func(w *Webhook) {
			t.Setenv("LINK_KEY", "short")
		},
		`--approval-webhook-format "html" is none of json, slack, teams and template:FILE`: func(
			w *Webhook) {
			w.Format = "html"
		},
		"flags about notices are given and --approval-webhook is not: name the URL, too": func(
			w *Webhook) {
			w.URL, w.Secret = "", ""
		},
	} {
		w := good
		t.Setenv("LINK_KEY", "planted-key-of-16")
		change(&w)
		if err := w.Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
