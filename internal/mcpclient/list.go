package mcpclient

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/panics"
)

const (
	// maxTools and maxPages bound a server's list of tools.
	maxTools = 10_000
	maxPages = 1_000
	// listAge is the age from which a list is requested again without a change notification,
	// because not every server sends them.
	listAge = 5 * time.Minute
)

// toolList caches the server's tools on a connection.
type toolList struct {
	// changed is set if the server announced a change after the list was requested.
	changed atomic.Bool

	mu     sync.Mutex
	listed time.Time
	byName map[string]Tool
	order  []string
}

// Tools returns all tools of the server, in its order. The list is cached until the server
// announces a change, at most for five minutes. Errors are those of Call.
func (c *Connection) Tools(ctx context.Context) (tools []Tool, err error) {
	defer panics.MCP.Contain(ctx, c.log, c.breakAfterPanic(&err))
	l := &c.tools
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := c.refresh(ctx); err != nil {
		return nil, err
	}
	tools = make([]Tool, 0, len(l.order))
	for _, name := range l.order {
		tools = append(tools, l.byName[name])
	}
	return tools, nil
}

// Tool returns one tool of the server, and whether it exists. An unusable tool is an error of the
// type precondition_failed.
func (c *Connection) Tool(ctx context.Context, name string) (tool Tool, found bool, err error) {
	defer panics.MCP.Contain(ctx, c.log, c.breakAfterPanic(&err))
	l := &c.tools
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := c.refresh(ctx); err != nil {
		return Tool{}, false, err
	}
	tool, found = l.byName[name]
	if reason := tool.Unusable(); reason != "" {
		return Tool{}, false, api.Errorf(api.ErrPreconditionFailed,
			"the tool %q of the MCP server %s cannot be called: %s", name, c.name, reason)
	}
	return tool, found, nil
}

// refresh asks for the list where the one there is does not hold. The caller has the list's lock.
func (c *Connection) refresh(ctx context.Context) error {
	l := &c.tools
	if !l.changed.Load() && time.Since(l.listed) < listAge {
		return nil
	}
	l.changed.Store(false)
	began := time.Now()
	byName, order, err := c.list(ctx)
	if err != nil {
		l.changed.Store(true)
		return err
	}
	l.byName, l.order, l.listed = byName, order, began
	return nil
}

// pageTime bounds the wait for one page of the list: nothing else bounds an import.
const pageTime = time.Minute

// page returns a page of the list. ctx is the caller's; within ends with the connection as well.
func (c *Connection) page(ctx, within context.Context,
	params *mcp.ListToolsParams) (*mcp.ListToolsResult, error) {
	within, cancel := context.WithTimeout(within, pageTime)
	defer cancel()
	within, x := withExchange(within)
	page, err := c.session.ListTools(within, params)
	switch {
	case err == nil:
		return page, nil
	case ctx.Err() == nil && c.Err() == nil && within.Err() != nil:
		e := api.Errorf(api.ErrPreconditionFailed, "the MCP server %s did not answer %s within %s",
			c.name, x.now().method, pageTime)
		e.Retryable = true
		return nil, e
	}
	return nil, c.failed(ctx, err, x.now())
}

func (c *Connection) list(ctx context.Context) (map[string]Tool, []string, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	byName := map[string]Tool{}
	var order []string
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := c.page(ctx, within, params)
		if err != nil {
			return nil, nil, err
		}
		for _, remote := range page.Tools {
			tool := newTool(remote)
			if earlier, twice := byName[remote.Name]; twice {
				tool.Ambiguous = earlier.Ambiguous || earlier.Digest() != tool.Digest()
			} else {
				order = append(order, remote.Name)
			}
			byName[remote.Name] = tool
		}
		if len(order) > maxTools {
			return nil, nil, &Fault{Reason: fmt.Sprintf("lists more than %d tools", maxTools)}
		}
		if page.NextCursor == "" {
			return byName, order, nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, nil, &Fault{Reason: fmt.Sprintf("lists its tools on more than %d pages", maxPages)}
}
