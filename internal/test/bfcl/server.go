package bfcl

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// word is the first argument of a program that runs as the server.
const word = "bfcl-server"

// Tools that the recorded backends do not have.
const (
	// loadCase starts a case: {"id": "multi_turn_base_0"}.
	loadCase = "load_case"
	// finalState returns the state of the backend.
	finalState = "final_state"
)

// Argv returns the argv of the server: this program, the corpus, the file for its ledger, and how
// long a call takes.
func Argv(corpus, ledger string, callTime time.Duration) []string {
	return []string{os.Args[0], word, corpus, ledger, callTime.String()}
}

// Main runs the server and does not return if this process was started by an Argv.
func Main() {
	if len(os.Args) != 5 || os.Args[1] != word {
		return
	}
	if err := serve(os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serve(corpus, ledger, callTime string) error {
	all, err := Load(corpus)
	if err != nil {
		return err
	}
	takes, err := time.ParseDuration(callTime)
	if err != nil {
		return err
	}
	server, err := newServer(all, takes, func(e Entry) error { return appendEntry(ledger, e) })
	if err != nil {
		return err
	}
	return server.Run(context.Background(), &mcp.StdioTransport{})
}

// Entry is a line of the ledger: a call that the server executed.
type Entry struct {
	PID  int    `json:"pid"`
	Case string `json:"case"`
	Tool string `json:"tool"`
	// Place is the recorded call that this call is: turn and call, from 1. It is empty if the call
	// does not fit the state.
	Place string `json:"place"`
}

func appendEntry(path string, e Entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(append(line, '\n')); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// position is the state of a backend: where in its case it is.
type position struct {
	// current is the case; nil before load_case.
	current *Case
	// turn counts the completed turns, done has the indices of the current turn's completed calls.
	turn int
	done []int
	// spoiled says that a call did not fit.
	spoiled bool
}

// next returns the state after a call, its result, and its place in the case. A call that does not
// fit has no place and spoils the state.
func (p position) next(tool string, args []byte) (after position, result, place string) {
	if p.current == nil || p.turn >= len(p.current.Turns) {
		return p.unfit(tool)
	}
	turn := p.current.Turns[p.turn]
	for i, c := range turn.Calls {
		if slices.Contains(p.done, i) {
			continue
		}
		if c.Tool == tool && sameJSON(c.Args, args) {
			return p.advance(i), string(c.Result), formatPlace(p.turn, i)
		}
		if !turn.free {
			break // it is the only call that fits
		}
	}
	return p.unfit(tool)
}

// advance returns the state after call i of the current turn.
func (p position) advance(i int) position {
	p.done = append(slices.Clone(p.done), i)
	if len(p.done) == len(p.current.Turns[p.turn].Calls) {
		p.turn, p.done = p.turn+1, nil
	}
	return p
}

// unfit answers as a backend in another state does: with a result, but not the recorded one.
func (p position) unfit(tool string) (position, string, string) {
	p.spoiled = true
	where := "no case is loaded"
	if p.current != nil {
		where = fmt.Sprintf("%s is at turn %d after %d calls", p.current.ID, p.turn+1, len(p.done))
	}
	answer, _ := json.Marshal(map[string]string{"state": where, "tool": tool})
	return p, string(answer), ""
}

// state returns the recorded final state after all calls of the case and no others.
func (p position) state() string {
	if p.current == nil || p.turn < len(p.current.Turns) || p.spoiled {
		_, answer, _ := p.unfit(finalState)
		return answer
	}
	return string(p.current.FinalState)
}

func formatPlace(turn, call int) string { return fmt.Sprintf("%d.%d", turn+1, call+1) }

// backend is the state of one process.
type backend struct {
	cases  map[string]*Case
	takes  time.Duration
	record func(Entry) error
	mu     sync.Mutex
	at     position
}

// call executes a call. Like most backends it does not expect calls to overlap: a call works on the
// state that it found when it began, and what calls in between changed is lost.
func (b *backend) call(ctx context.Context, tool string, args []byte) (string, error) {
	b.mu.Lock()
	at := b.at
	b.mu.Unlock()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(b.takes):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var result, place string
	switch tool {
	case loadCase:
		var in struct{ ID string }
		if err := json.Unmarshal(args, &in); err != nil || b.cases[in.ID] == nil {
			return "", fmt.Errorf("no case %s", args)
		}
		at, result, place = position{current: b.cases[in.ID]}, strconv.Quote(in.ID), loadCase
	case finalState:
		result, place = at.state(), finalState
	default:
		at, result, place = at.next(tool, args)
	}
	b.at = at
	e := Entry{PID: os.Getpid(), Tool: tool, Place: place}
	if at.current != nil {
		e.Case = at.current.ID
	}
	return result, b.record(e)
}

// newServer returns a server with the tools of all cases. record is called for each execution.
func newServer(all []Case, takes time.Duration, record func(Entry) error) (*mcp.Server, error) {
	tools, err := collectTools(all)
	if err != nil {
		return nil, err
	}
	b := &backend{cases: map[string]*Case{}, takes: takes, record: record}
	for i := range all {
		b.cases[all[i].ID] = &all[i]
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "bfcl", Version: "4"}, nil)
	b.add(server, loadCase, "Loads a case.", map[string]any{"type": "object",
		"properties": map[string]any{"id": map[string]any{"type": "string"}},
		"required":   []string{"id"}})
	b.add(server, finalState, "Returns the state.", map[string]any{"type": "object"})
	for _, t := range tools {
		b.add(server, t.name, "A method of "+t.class+".", t.schema())
	}
	return server, nil
}

func (b *backend) add(server *mcp.Server, name, description string, schema map[string]any) {
	server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: schema},
		func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result, err := b.call(ctx, name, r.Params.Arguments)
			if err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: result}}}, nil
		})
}
