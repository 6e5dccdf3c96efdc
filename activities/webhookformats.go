package activities

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
)

// Formats of notices, and the prefix of one that a template writes.
const (
	formatJSON     = "json"
	formatSlack    = "slack"
	formatTeams    = "teams"
	formatTemplate = "template:"
)

// Limits of Slack, in characters: of a header, and of the text of a section and a context.
const (
	slackHeader = 150
	slackText   = 3000
)

// checkFormat returns what is wrong with the format. A template has to write JSON for a notice with
// everything that notices have.
func (w Webhook) checkFormat() error {
	if !strings.HasPrefix(w.Format, formatTemplate) {
		switch w.Format {
		case "", formatJSON, formatSlack, formatTeams:
			return nil
		}
		return fmt.Errorf("--approval-webhook-format %q is none of json, slack, teams and "+
			"template:FILE", w.Format)
	}
	at := time.Unix(0, 0).UTC()
	for _, event := range []api.NoticeEvent{api.NoticeWaiting, api.NoticeDecided} {
		n := api.Notice{Event: event, At: at, WorkflowID: "w", Run: "r", Call: "1.1", Tool: "pay",
			Text: "\"quoted\"\nline", Reason: "r", Digest: "d", Until: at, Links: &api.NoticeLinks{},
			Decided: &api.NoticeDecision{}}
		if _, err := w.body(n); err != nil {
			return fmt.Errorf("--approval-webhook-format: %w", err)
		}
	}
	return nil
}

// body returns the body of a request.
func (w Webhook) body(n api.Notice) ([]byte, error) {
	switch {
	case w.Format == formatSlack:
		return json.Marshal(slackMessage(n))
	case w.Format == formatTeams:
		return json.Marshal(teamsMessage(n))
	case strings.HasPrefix(w.Format, formatTemplate):
		return written(strings.TrimPrefix(w.Format, formatTemplate), n)
	}
	return json.Marshal(n)
}

// written returns what the template of a file writes for a notice.
func written(path string, n api.Notice) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := template.New(path).Funcs(template.FuncMap{"json": func(v any) (string, error) {
		data, err := json.Marshal(v)
		return string(data), err
	}, "title": formatTitle, "details": formatDetails}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, n); err != nil {
		return nil, err
	}
	if !json.Valid(b.Bytes()) {
		return nil, errors.New(path + " does not write JSON; write texts as {{json .Text}}")
	}
	return b.Bytes(), nil
}

// formatTitle says in a line what a notice is about.
func formatTitle(n api.Notice) string {
	what := cmp.Or(n.Tool, "more "+n.Limit) + " (" + n.WorkflowID + " " + n.Call + ")"
	if n.Event == api.NoticeDecided {
		return "Decided: " + what
	}
	return "Approval needed: " + what
}

// formatDetails says in a few lines why a call waits, who may decide and until when, or what was
// decided.
func formatDetails(n api.Notice) string {
	if d := n.Decided; d != nil && n.Event == api.NoticeDecided {
		return people.DecidedNote(api.Decided{Decision: d.Decision, By: d.By, Auth: d.Auth,
			Reason: d.Reason})
	}
	lines := []string{n.Reason}
	for _, rule := range n.Approvers {
		lines = append(lines, "needs "+rule.String())
	}
	return strings.Join(append(lines, "open until "+n.Until.UTC().Format("2006-01-02 15:04 MST")),
		"\n")
}

// button is a link of a notice.
type button struct{ title, url string }

func listButtons(n api.Notice) []button {
	if n.Links == nil {
		return nil
	}
	var list []button
	for _, b := range []button{{"Approve", n.Links.Approve}, {"Deny", n.Links.Deny},
		{"Open the console", n.Links.Page}} {
		if b.url != "" {
			list = append(list, b)
		}
	}
	return list
}

// object is a JSON object of a message.
type object map[string]any

// slackMessage returns a message of Slack's Block Kit for an incoming webhook. Texts of tools are
// plain text, so that they cannot contain links or mentions. The links are no buttons: a button
// also calls the app, and an incoming webhook has none that answers.
func slackMessage(n api.Notice) object {
	plain := func(text string, limit int) object {
		return object{"type": "plain_text", "emoji": false, "text": limitText(text, limit)}
	}
	blocks := []object{{"type": "header", "text": plain(formatTitle(n), slackHeader)},
		{"type": "section", "text": plain(cmp.Or(n.Text, "-"), slackText)},
		{"type": "context", "elements": []object{plain(formatDetails(n), slackText)}}}
	for _, b := range listButtons(n) {
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn",
			"text": "<" + b.url + "|" + b.title + ">"}})
	}
	escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(formatTitle(n))
	return object{"text": escaped, "blocks": blocks, "unfurl_links": false, "unfurl_media": false}
}

// limitText returns at most limit characters of a text, with its lines.
func limitText(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}

// teamsMessage returns a message with an Adaptive Card for a webhook of Teams' Workflows. Texts of
// tools are text runs, which know no Markdown.
func teamsMessage(n api.Notice) object {
	block := func(text string, more object) object {
		run := object{"type": "TextRun", "text": text}
		for name, value := range more {
			run[name] = value
		}
		return object{"type": "RichTextBlock", "inlines": []object{run}}
	}
	var actions []object
	for _, b := range listButtons(n) {
		actions = append(actions, object{"type": "Action.OpenUrl", "title": b.title, "url": b.url})
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"type": "AdaptiveCard", "version": "1.4", "body": []object{
			block(formatTitle(n), object{"weight": "Bolder", "size": "Medium"}),
			block(n.Text, nil), block(formatDetails(n), object{"isSubtle": true, "size": "Small"})}}
	if len(actions) > 0 {
		card["actions"] = actions
	}
	return object{"type": "message", "attachments": []object{{
		"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
		"content": card}}}
}
