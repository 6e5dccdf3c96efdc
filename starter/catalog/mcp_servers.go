package catalog

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"github.com/switchyard/switchyard/toolspecs"
)

// mcpServers asks MCP servers for their tools, each once, as a worker of this machine and
// environment would.
type mcpServers struct {
	ctx context.Context
	// dir is where relative working folders of servers start; empty means the current one.
	dir string
	// login has a person log in, and logins are where the tokens of that are kept; see
	// mcptools.Options.
	login  func(ctx context.Context, address string) (string, error)
	logins *mcpclient.Logins
	known  map[string]askedServer
	open   []*mcpclient.Connection
}

// askedServer is what a server said, or why it said nothing.
type askedServer struct {
	tools []mcpclient.Tool
	err   error
}

// tools returns the tools of the server that an entry reaches. With an answer_within it is told
// that it may ask people: some servers list more tools then.
func (s *mcpServers) tools(e toolspecs.Entry) ([]mcpclient.Tool, error) {
	key, err := api.EncodeJSON(toolspecs.Entry{Argv: e.Argv, Dir: e.Dir, Env: e.Env,
		Secrets: e.Secrets, URL: e.URL, Headers: e.Headers, Auth: e.Auth,
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

func (s *mcpServers) ask(e toolspecs.Entry) ([]mcpclient.Tool, error) {
	conn, err := mcpclient.Connect(s.ctx, e.MCPServer(), mcpclient.Options{Dir: s.dir,
		Inside: insideHosts(), Asks: e.AnswerWithin > 0,
		Login: s.login, Logins: s.logins})
	if err != nil {
		return nil, &unlisted{err}
	}
	s.open = append(s.open, conn)
	listed, err := conn.Tools(s.ctx)
	if err != nil {
		return nil, &unlisted{err}
	}
	return listed, nil
}

// unlisted is why a server did not list its tools, in words without the type of a call's error.
type unlisted struct{ err error }

func (u *unlisted) Error() string { return message(u.err) }
func (u *unlisted) Unwrap() error { return u.err }

// importError is why nothing can be imported from the server that the command line names, in the
// words of that.
func importError(ctx context.Context, e toolspecs.Entry, err error) error {
	if ctx.Err() != nil {
		return cli.Errorf(cli.ExitCancelled, "interrupted before the server listed its tools")
	}
	switch own, ok := errors.AsType[*api.Error](err); {
	case ok && own.Type == api.ErrExecutorNotFound && len(e.Argv) > 0:
		return cli.Errorf(cli.ExitUsage,
			"the program %s is not installed or not executable\nInstall it, or correct the command after -- or the PATH.",
			e.Argv[0])
	case ok && own.Type == api.ErrPolicyViolation && e.URL != "":
		return cli.Errorf(cli.ExitUsage,
			"%w\nFor this command and the toolspecs that it writes: --allow HOST%s", err,
			suchAs(e.URL))
	}
	return cli.Errorf(cli.ExitUsage, "%w", err)
}

// suchAs offers the host of an address as an example.
func suchAs(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return ", such as --allow " + api.ShellWord(u.Hostname())
}

// insideHosts are those that a worker with this environment would let tools reach although they are
// not public.
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
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
