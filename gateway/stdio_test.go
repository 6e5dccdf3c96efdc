package gateway

import (
	"bufio"
	"context"
	"io"
	"strings"
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

// A line that is not a message is an error of that line, and the gateway goes on.
func TestStdio_AnswersMalformedLines(t *testing.T) {
	l := newLab(t, nil)
	toGateway, fromClient := io.Pipe()
	toClient, fromGateway := io.Pipe()
	ended := make(chan error)
	go func() { ended <- l.gateway.ServeStdio(t.Context(), toGateway, fromGateway) }()
	answers := bufio.NewReader(toClient)
	for _, c := range [][2]string{
		{"{", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,` +
			`"message":"the message is not valid JSON"}}`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} trailing`, `{"jsonrpc":"2.0","id":null,` +
			`"error":{"code":-32700,"message":"the message is not valid JSON"}}`},
		{`[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,` +
			`"message":"the message is not a JSON object; batches are not supported"}}`},
		{"\n" + `{"jsonrpc":"2.0","id":"p","method":"ping"}`,
			`{"jsonrpc":"2.0","id":"p","result":{}}`},
		{strings.Repeat("x", 5<<20), `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,` +
			`"message":"the message is not valid JSON"}}`},
	} {
		if _, err := io.WriteString(fromClient, c[0]+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := answers.ReadString('\n'); err != nil || line != c[1]+"\n" {
			t.Errorf("%.80q: got %s, %v", c[0], line, err)
		}
	}
	_ = fromClient.Close()
	if err := <-ended; err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
}
