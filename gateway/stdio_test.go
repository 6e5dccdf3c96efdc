package gateway

import (
	"context"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestStdio_ServesOneClient(t *testing.T) {
	l := newLab(t, nil)
	toGateway, fromClient := io.Pipe()
	toClient, fromGateway := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.gateway.ServeStdio(ctx, toGateway, fromGateway) }()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo",
		Arguments: map[string]any{"a": 1}})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != `{"a":1}` {
		t.Errorf("%+v, %v", res, err)
	}
	cancel()
	<-ended
}
