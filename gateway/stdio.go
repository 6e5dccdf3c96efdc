package gateway

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over a pair of streams until they end or ctx does. Caller is then
// called without a request.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return g.mcp.shared.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}
