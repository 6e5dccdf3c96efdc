//go:build unix

package mcpclient

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// foreignProgram is a server program that speaks version 2025-11-25 until it gets the message of
// the method $1: then it does $2.
const foreignProgram = `
rest='"capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"f","version":"1"}}'
answer() { printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$1"; }
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
  *'"method":"'"$1"'"'*) eval "$2" ;;
  *'"method":"initialize"'*) answer '"result":{"protocolVersion":"2025-11-25",'"$rest" ;;
  *'"method":"tools/list"'*) answer '"result":{"tools":[]}' ;;
  *'"method":"tools/call"'*) answer '"result":{"task":{"taskId":"t","status":"working"}}' ;;
  *'"id":'*) answer '"error":{"code":-32601,"message":"no such method"}' ;;
  esac
done`

// Whatever a server program does with a request, the request ends with an error that names it.
func TestForeignPrograms_EndAsErrors(t *testing.T) {
	call := func(ctx context.Context, c *Connection) error {
		_, err := c.Call(ctx, Request{Tool: "x", TaskSupport: TaskRequired})
		return err
	}
	steps := map[string]func(ctx context.Context, c *Connection) error{
		"server/discover": call, "initialize": call, "notifications/initialized": call,
		"tools/list": func(ctx context.Context, c *Connection) error {
			_, err := c.Tools(ctx)
			return err
		},
		"tools/call": call, "tasks/get": call,
		"tasks/cancel": func(ctx context.Context, c *Connection) error {
			return CancelTask(ctx, c, "t")
		},
		"ping": func(ctx context.Context, c *Connection) error {
			within, x := withExchange(ctx)
			if err := c.ping(within); err != nil {
				return c.failure(ctx, err, x.now())
			}
			return nil
		},
	}
	tests := map[string]func(*testing.T){}
	for step, request := range steps {
		for name, act := range map[string]string{
			"exits":                                "exit 3",
			"is killed":                            "kill -9 $$",
			"prints garbage":                       "echo Segmentation fault; exit 3",
			"prints half":                          `printf '{"jsonrpc":"2.0",'; exit 3`,
			"prints no message":                    `echo '{"jsonrpc":"1.0"}'`,
			"prints null":                          `echo null; exit 3`,
			"closes its output":                    "exec >&-",
			"closes its input":                     "exec <&-; exec >&-; sleep 5",
			"answers null":                         `answer '"result":null'; exit 3`,
			"answers with an id that is an object": `echo '{"jsonrpc":"2.0","id":{},"result":{}}'`,
		} {
			tests[strings.ReplaceAll(step, "/", ".")+"/"+name] = func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				c, err := Connect(ctx, &Server{Argv: []string{"sh", "-c", foreignProgram, "sh", step,
					act}, Env: []string{"PATH"}}, Options{ConnectTimeout: 50 * time.Second})
				if err == nil {
					defer c.Close()
					err = request(ctx, c)
				}
				if err == nil || errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v", err)
				}
				// A program that ends while it gets a notification is noticed at the next request,
				// as is one that ends after its answer to server/discover.
				answered := step == "server/discover" && strings.Contains(err.Error(), "initialize")
				if step != "notifications/initialized" && !answered &&
					!strings.Contains(err.Error(), step) {
					t.Errorf("the error does not name %s: %v", step, err)
				}
			}
		}
	}
	runWaiting(t, tests)
}
