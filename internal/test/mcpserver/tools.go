package mcpserver

//lint:file-ignore SA1019 servers send log messages as long as the protocol has them

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// arguments are the arguments of all tools; each tool uses some.
type arguments struct {
	Text  string `json:"text,omitempty"`
	Count int    `json:"count,omitempty"`
	// File receives a line with the outcome for each execution.
	File string `json:"file,omitempty"`
}

type handler func(ctx context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult,
	error)

const schema = `{"type":"object","properties":{"text":{"type":"string"},"count":{"type":"integer"},"file":{"type":"string"}}}`

func add(server *mcp.Server, name, description string, h handler) {
	server.AddTool(&mcp.Tool{Name: name, Description: description,
		InputSchema: json.RawMessage(schema)},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var a arguments
			if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
			}
			if a.File != "" {
				note(a.File, name+" "+a.Text)
			}
			return h(ctx, r, a)
		})
}

// note appends a line to a file.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func echo(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	return text(a.Text), nil
}

func addTools(server *mcp.Server, args []string) {
	var calls atomic.Int64
	add(server, "echo", "Returns the text.", echo)
	add(server, "args", "Returns the server's arguments.",
		func(context.Context, *mcp.CallToolRequest, arguments) (*mcp.CallToolResult, error) {
			return text(strings.Join(args, " ")), nil
		})
	add(server, "count", "Counts its calls.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		return text(fmt.Sprint(calls.Add(1))), nil
	})
	var remembered []string
	add(server, "remember", "Adds the text to what it remembers, and returns it after the process ID.",
		func(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
			remembered = append(remembered, a.Text) // calls of a session do not overlap
			return text(fmt.Sprint(os.Getpid(), " ", strings.Join(remembered, " "))), nil
		})
	add(server, "env", "Returns the names in the environment.",
		func(context.Context, *mcp.CallToolRequest, arguments) (*mcp.CallToolResult, error) {
			names := os.Environ()
			slices.Sort(names)
			return text(strings.Join(names, "\n")), nil
		})
	add(server, "meta", "Returns the call's _meta.", func(_ context.Context, r *mcp.CallToolRequest,
		_ arguments) (*mcp.CallToolResult, error) {
		data, err := json.Marshal(r.Params.Meta)
		return text(string(data)), err
	})
	addAnswers(server)
	addLong(server)
	addFaults(server)
	addChanges(server)
}

// addAnswers adds a tool for every form of answer.
func addAnswers(server *mcp.Server) {
	structured := &mcp.Tool{Name: "structured", Description: "Returns a large number.",
		InputSchema: json.RawMessage(schema),
		OutputSchema: json.RawMessage(
			`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`)}
	server.AddTool(structured, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult,
		error) {
		result := text(`{"id": 9007199254740993}`)
		result.StructuredContent = json.RawMessage(`{"id": 9007199254740993}`)
		return result, nil
	})
	add(server, "picture", "Returns an image of count bytes.", func(_ context.Context,
		_ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a picture:"},
			&mcp.ImageContent{MIMEType: "image/png", Data: bytes.Repeat([]byte{7}, a.Count)}}}, nil
	})
	add(server, "sound", "Returns audio.", func(_ context.Context, _ *mcp.CallToolRequest,
		a arguments) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.AudioContent{MIMEType: "audio/wav",
			Data: bytes.Repeat([]byte{1}, a.Count)}}}, nil
	})
	add(server, "resources", "Returns a link, a text and count bytes.", func(_ context.Context,
		_ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{
			&mcp.ResourceLink{URI: "file:///a.txt", Name: "a.txt", MIMEType: "text/plain"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.txt",
				MIMEType: "text/plain", Text: "b"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c.bin",
				MIMEType: "application/octet-stream", Blob: bytes.Repeat([]byte{9}, a.Count)}},
		}}, nil
	})
	add(server, "chart", "Returns structured content and an image of count bytes.",
		func(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"points":3}`),
				Content: []mcp.Content{
					&mcp.ImageContent{MIMEType: "image/png", Data: bytes.Repeat([]byte{7},
						a.Count)}}}, nil
		})
	add(server, "large", "Returns a text of count bytes.", func(_ context.Context,
		_ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
		return text(strings.Repeat("x", a.Count)), nil
	})
	add(server, "nothing", "Returns nothing.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}}, nil
	})
}

// addLong adds slow tools.
func addLong(server *mcp.Server) {
	add(server, "progress", "Reports count steps.", func(ctx context.Context,
		r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
		for i := range a.Count {
			for level, data := range map[mcp.LoggingLevel]any{"debug": "details",
				"warning": map[string]any{"step": i + 1}} {
				if err := r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Data: data,
					Logger: "steps"}); err != nil {
					return nil, err
				}
			}
			err := r.Session.NotifyProgress(ctx,
				&mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(),
					Progress: float64(i + 1), Total: float64(a.Count),
					Message: fmt.Sprintf("step %d",
						i+1)})
			if err != nil {
				return nil, err
			}
		}
		if a.Text == "wait" {
			return nil, until(ctx)
		}
		return text("done"), nil
	})
	add(server, "wait", "Waits until it is cancelled, and notes that in file.",
		func(ctx context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult,
			error) {
			err := until(ctx)
			if a.File != "" {
				note(a.File, "cancelled")
			}
			return nil, err
		})
	add(server, "ask", "Asks for a name.", ask)
}

// ask asks for a name: during the call, or in newer versions of the protocol by an answer that
// asks.
func ask(ctx context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
	params := &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
	switch a.Text {
	case "url":
		params = &mcp.ElicitParams{Mode: "url", Message: "Sign in", URL: "https://example.com/",
			ElicitationID: "1"}
	case "roots":
		//lint:ignore SA1019 a client without roots has to declare that while servers may ask
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}},
			nil
	case "busy":
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}, nil
	}
	if given, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
		return text(fmt.Sprintf("%s %v", given.Action, given.Content["name"])), nil
	}
	if initialized := r.Session.InitializeParams(); initialized == nil ||
		initialized.ProtocolVersion > "2025-11-25" {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": params}}, nil
	}
	reply, err := r.Session.Elicit(ctx, params)
	if err != nil {
		return text("no reply: " + err.Error()), nil
	}
	return text(fmt.Sprintf("%s %v", reply.Action, reply.Content["name"])), nil
}

// addFaults adds tools that fail.
func addFaults(server *mcp.Server) {
	add(server, "fail", "Fails as a tool.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		result := text("the disk is full")
		result.IsError = true
		return result, nil
	})
	add(server, "fail_wordless",
		"Fails as a tool, with text as structured content or with nothing.", func(_ context.Context,
			_ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
			result := &mcp.CallToolResult{Content: []mcp.Content{}, IsError: true}
			if a.Text != "" {
				result.StructuredContent = a.Text
			}
			return result, nil
		})
	add(server, "refuse", "Fails as a server.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		return nil, errors.New("the database is locked")
	})
	add(server, "invalid", "Refuses its arguments.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "text must be a colour"}
	})
	add(server, "die", "Ends the server in mid-call.", func(context.Context, *mcp.CallToolRequest,
		arguments) (*mcp.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "out of cheese")
		os.Exit(7)
		return nil, nil
	})
	add(server, "stall", "Stops the server from reacting to anything.",
		func(context.Context, *mcp.CallToolRequest, arguments) (*mcp.CallToolResult, error) {
			stall()
			return nil, nil
		})
	add(server, "litter", "Writes what is no message to standard output.", func(ctx context.Context,
		_ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
		switch a.Text {
		case "":
			fmt.Println("DEBUG: cache miss")
			fmt.Println(`{"level":"debug"}`)
			return text("littered"), nil
		case "endless":
			endless(os.Stdout)
		case "noise":
			for ctx.Err() == nil {
				fmt.Println(strings.Repeat("noise ", 1000))
			}
		default:
			fmt.Println(a.Text)
		}
		return nil, until(ctx)
	})
}

// addChanges adds a tool that changes or removes another one, victim, which returns the text once
// file is removed. The environment variable VICTIM is its initial description.
func addChanges(server *mcp.Server) {
	add(server, "victim", cmp.Or(os.Getenv("VICTIM"), "Does no harm."), untilRemoved)
	add(server, "change", "Changes the description of victim to text, or removes it.",
		func(_ context.Context, _ *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, error) {
			if a.Text == "" {
				server.RemoveTools("victim")
			} else {
				add(server, "victim", a.Text, untilRemoved)
			}
			return text("changed"), nil
		})
}

// untilRemoved returns the text once the call's file is removed, at once if there is none.
func untilRemoved(ctx context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult,
	error) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for a.File != "" {
		if _, err := os.Stat(a.File); err != nil {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
	return echo(ctx, r, a)
}
