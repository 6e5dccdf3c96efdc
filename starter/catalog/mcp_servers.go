package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
)

// mcpServers lists the tools of MCP servers, each server once, as a worker in this environment
// would.
type mcpServers struct {
	ctx context.Context
	// login performs an interactive login. logins is the folder of the tokens; see
	// mcpclient.Options.
	login  func(ctx context.Context, address string) (string, error)
	logins *mcpclient.Logins
	// note tells the person that a program takes longer to start than quiet, default quietTime. May
	// be nil.
	note  func(text string)
	quiet time.Duration
	known map[string]askedServer
	open  []*mcpclient.Connection
}

// askedServer is a server's answer or error.
type askedServer struct {
	tools []mcpclient.Tool
	err   error
}

// tools returns the tools of an entry's server. If answer_within is set, the client announces
// elicitation, because some servers then list more tools.
func (s *mcpServers) tools(e toolspecs.MCPEntry) ([]mcpclient.Tool, error) {
	key, err := jsonvalue.Encode(toolspecs.MCPEntry{Argv: e.Argv, Dir: e.Dir, Env: e.Env,
		SetEnv: e.SetEnv, Secrets: e.Secrets, URL: e.URL, Headers: e.Headers, Auth: e.Auth,
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

// mcpServersFor returns the connections of a command. A person logs in at the terminal; logins is
// the folder of the tokens.
func mcpServersFor(a *cli.App, ctx context.Context, logins string) mcpServers {
	return mcpServers{ctx: ctx,
		logins: mcpclient.NewLogins(cmp.Or(logins, mcpclient.DefaultLogins())),
		note:   func(text string) { fmt.Fprintln(a.Err, "starter: "+text) },
		login: func(ctx context.Context, address string) (string, error) {
			return askLogin(ctx, a, address)
		}}
}

// installTime is how long a program may take to start for the first time, because programs such as
// npx install the server first, and some packages are compiled then. Workers wait for less.
const installTime = 5 * time.Minute

// quietTime is how long a program may take before starter prints that it waits.
const quietTime = 10 * time.Second

func (s *mcpServers) ask(e toolspecs.MCPEntry) ([]mcpclient.Tool, error) {
	o := mcpclient.Options{Inside: insideHosts(), Asks: e.AnswerWithin > 0,
		Login: s.login, Logins: s.logins}
	if len(e.Argv) > 0 {
		o.ConnectTimeout = installTime
		defer s.noteWait(e.Argv[0]).Stop()
	}
	conn, err := mcpclient.Connect(s.ctx, e.MCPServer(), o)
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

// noteWait tells the person after quietTime that a program takes long, until the timer is stopped.
func (s *mcpServers) noteWait(program string) *time.Timer {
	return time.AfterFunc(cmp.Or(s.quiet, quietTime), func() {
		if s.note != nil {
			s.note(fmt.Sprintf("waiting up to %.0f min for %s, which may install the server first",
				installTime.Minutes(), program))
		}
	})
}

// unlisted is an error from listing tools, without the type of a call's error.
type unlisted struct{ err error }

func (u *unlisted) Error() string { return message(u.err) }
func (u *unlisted) Unwrap() error { return u.err }

// importError explains why importing from the server named on the command line fails.
func importError(ctx context.Context, e toolspecs.MCPEntry, err error) error {
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

// suchAs returns the host of an address as an example.
func suchAs(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	return ", such as --allow " + display.ShellWord(u.Hostname())
}

// insideHosts returns the non-public hosts that a worker in this environment lets tools reach.
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
	s.open = nil
}

// message returns an error's text without its type, which applies to calls.
func message(err error) string {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
