package gateway

import (
	"context"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/wire"
)

// ServeStdio serves one client over a pair of streams until they end or ctx does. Caller is then
// called without a request. Lines that are not messages are answered with an error.
func (g *Gateway) ServeStdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	w := wire.NewWriter(out)
	lines := wire.NewLines(in, w, mcp.DefaultMaxRequestBodyBytes)
	return g.mcp.shared.Run(ctx, &mcp.IOTransport{Reader: lines, Writer: w,
		MaxLineLength: 2 * mcp.DefaultMaxRequestBodyBytes})
}
