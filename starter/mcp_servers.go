package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/mcptools"
)

// mcpServers asks MCP servers for their tools, each once, as a worker of this machine and environment would.
type mcpServers struct {
	ctx context.Context
	// dir is where relative working folders of servers start; empty means the current one.
	dir string
	// login has a person log in, and logins are where the tokens of that are kept; see mcptools.Options.
	login  func(ctx context.Context, address string) (string, error)
	logins *mcptools.Logins
	known  map[string]askedServer
	open   []*mcptools.Connection
}

// askedServer is what a server said, or why it said nothing.
type askedServer struct {
	tools []mcptools.Tool
	err   error
}

// tools returns the tools of the server that an entry reaches. With an answer_within it is told that it may ask people:
// some servers list more tools then.
func (s *mcpServers) tools(e toolspecs.Entry) ([]mcptools.Tool, error) {
	key, err := switchyard.EncodeJSON(toolspecs.Entry{Argv: e.Argv, Dir: e.Dir, Env: e.Env, URL: e.URL, Headers: e.Headers, Auth: e.Auth,
		Allow: e.Allow, AnswerWithin: min(e.AnswerWithin, 1)})
	if err != nil {
		return nil, err
	}
	asked, again := s.known[string(key)]
	if !again {
		asked.tools, asked.err = s.ask(e)
		if s.known == nil {
			s.known = map[string]askedServer{}
		}
		s.known[string(key)] = asked
	}
	return asked.tools, asked.err
}

func (s *mcpServers) ask(e toolspecs.Entry) ([]mcptools.Tool, error) {
	conn, err := mcptools.Connect(s.ctx, &e, mcptools.Options{Dir: s.dir, Inside: insideHosts(), Asks: e.AnswerWithin > 0,
		Login: s.login, Logins: s.logins})
	if err != nil {
		return nil, errors.New(message(err))
	}
	s.open = append(s.open, conn)
	listed, err := conn.Tools(s.ctx)
	if err != nil {
		return nil, errors.New(message(err))
	}
	return listed, nil
}

// insideHosts are those that a worker with this environment would let tools reach although they are not public.
func insideHosts() []string {
	if list := os.Getenv("SWITCHYARD_HTTP_ALLOW"); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

func (s *mcpServers) close() {
	for _, conn := range s.open {
		conn.Close()
	}
}

// message returns an error's words without its type, which is for calls.
func message(err error) string {
	if e, ok := errors.AsType[*switchyard.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
