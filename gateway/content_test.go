package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// offering has a gateway offer prompts and resources.
func offering(t *testing.T) (c func(*Config), set *atomic.Pointer[content.Set]) {
	dir := t.TempDir()
	for name, text := range map[string]string{"guide.txt": "Be {style}.",
		"dot.png": "\x89PNG\r\n\x1a\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := &strictyaml.Findings{}
	set = &atomic.Pointer[content.Set]{}
	set.Store(content.Load([]content.Prompt{{Name: "review", Description: "Reviews.",
		Arguments: []content.Argument{{Name: "style", Required: true, Description: "How",
			Values: []string{"strict", "mild"}}, {Name: "extra"}},
		Messages: []content.Message{{Text: "Review {style}ly{extra}."},
			{Role: "assistant", File: "guide.txt"}, {File: "dot.png"},
			{Resource: "docs://{style}"}}}},
		[]content.Resource{{URI: "docs://strict", Text: "Rules"}, {URI: "docs://guide",
			Name: "guide", File: "guide.txt"}, {URI: "docs://dot", File: "dot.png"},
			{URI: "echo://of/{a}", Text: "{a} {b}"}},
		func(name string) string { return filepath.Join(dir, name) }, found))
	if len(found.All) > 0 {
		t.Fatal(found.All)
	}
	return func(c *Config) { c.Content = set.Load }, set
}

// asText returns what a client got as one text.
func asText(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func TestPrompts_AreListedFilledAndCompleted(t *testing.T) {
	change, _ := offering(t)
	l := newLab(t, change)
	s := l.connect(l.url+Path, nil)
	list, err := s.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 1 || len(list.Prompts[0].Arguments) != 2 {
		t.Fatalf("%s %v", asText(list), err)
	}
	got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "review",
		Arguments: map[string]string{"style": "strict"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"content":{"type":"text","text":"Review strictly."},"role":"user"},` +
		`{"content":{"type":"text","text":"Be strict."},"role":"assistant"},` +
		`{"content":{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="},"role":"user"},` +
		`{"content":{"type":"resource","resource":{"uri":"docs://strict","mimeType":"text/plain",` +
		`"text":"Rules"}},"role":"user"}]`
	if text := asText(got.Messages); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for _, p := range []mcp.GetPromptParams{{Name: "other"}, {Name: "review"}, {Name: "review",
		Arguments: map[string]string{"style": "mild"}}} {
		if got, err := s.GetPrompt(t.Context(), &p); err == nil {
			t.Errorf("%+v: %s", p, asText(got))
		}
	}
	for ref, want := range map[*mcp.CompleteReference]string{
		{Type: "ref/prompt", Name: "review"}:         `{"total":1,"values":["strict"]}`,
		{Type: "ref/resource", URI: "echo://of/{a}"}: `{"values":[]}`,
		{Type: "ref/prompt", Name: "other"}:          "",
	} {
		c, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: ref,
			Argument: mcp.CompleteParamsArgument{Name: "style", Value: "S"}})
		if err == nil && asText(c.Completion) != want || (err != nil) != (want == "") {
			t.Errorf("%+v: %s %v", ref, asText(c), err)
		}
	}
}

// A client that can repeat its request with an answer is asked for arguments that are missing.
func TestPrompts_AskForMissingArguments(t *testing.T) {
	change, _ := offering(t)
	l := newLab(t, change)
	const asks = `{"elicitation":{}}`
	r := l.modern(t.Context(), "prompts/get", "review", `"name":"review"`, asks)
	for _, want := range []string{`"resultType":"input_required"`, `"required":["style"]`,
		"What are the arguments of the prompt review?"} {
		if !strings.Contains(string(r.Result), want) {
			t.Errorf("got %s, want %s in it", r.Result, want)
		}
	}
	for action, want := range map[string]bool{"accept": true, "decline": false} {
		r = l.modern(t.Context(), "prompts/get", "review", fmt.Sprintf(`"name":"review",`+
			`"inputResponses":{"arguments":{"action":%q,"content":{"style":"strict"}}}`, action), asks)
		if strings.Contains(string(r.Result), "Review strictly.") != want || (r.Error == nil) != want {
			t.Errorf("%s: %+v", action, r)
		}
	}
	if r = l.modern(t.Context(), "prompts/get", "review", `"name":"review"`, `{}`); r.Error == nil {
		t.Errorf("a client that cannot ask: %+v", r)
	}
}

func TestResources_AreListedAndRead(t *testing.T) {
	change, _ := offering(t)
	l := newLab(t, change)
	s := l.connect(l.url+Path, nil)
	list, err := s.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var uris []string
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	if want := strings.Fields("docs://dot docs://guide docs://strict"); !slices.Equal(uris, want) {
		t.Errorf("listed %v, want %v", uris, want)
	}
	if all, err := s.ListResourceTemplates(t.Context(), nil); err != nil ||
		len(all.ResourceTemplates) != 1 ||
		all.ResourceTemplates[0].URITemplate != "echo://of/{a}" {
		t.Errorf("%s %v", asText(all), err)
	}
	for uri, want := range map[string]string{
		"docs://guide":      `[{"uri":"docs://guide","mimeType":"text/plain","text":"Be {style}."}]`,
		"docs://dot":        `[{"uri":"docs://dot","mimeType":"image/png","blob":"iVBORw0KGgo="}]`,
		"echo://of/a%2Fb":   `[{"uri":"echo://of/a%2Fb","mimeType":"text/plain","text":"a/b {b}"}]`,
		"echo://of/a/b":     "",
		"docs://nothing":    "",
		"file:///etc/hosts": "",
	} {
		got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err == nil && asText(got.Contents) != want || (err != nil) != (want == "") {
			t.Errorf("%s: %s %v", uri, asText(got), err)
		}
	}
}

// Clients of both kinds of revisions can subscribe, and hear that the lists have changed.
func TestSubscription_HearsOfChanges(t *testing.T) {
	change, set := offering(t)
	l := newLab(t, change)
	for _, version := range []string{"2025-11-25", ""} {
		lists := make(chan string, 100)
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {
				lists <- "prompts"
			}})
		s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: l.url + Path},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "docs://guide"}); err != nil {
			t.Fatal(err)
		}
		err = s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "docs://nothing"})
		if version != "" && err == nil {
			t.Error("a resource that is not there was subscribed to")
		}
		l.gateway.ContentChanged()
		if got := <-lists; got != "prompts" {
			t.Errorf("%q: the list of %s has changed", version, got)
		}
		_ = s.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "docs://guide"})
		_ = s.Close()
	}
	set.Store(content.Load(nil, nil, nil, nil))
	l.gateway.ContentChanged()
	r := l.modern(t.Context(), "server/discover", "", "", "{}")
	if strings.Contains(string(r.Result), `"prompts"`) {
		t.Errorf("without prompts: %s", r.Result)
	}
}
