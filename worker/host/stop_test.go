package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// waiting is an activity that ends with its context.
type waiting struct {
	interceptor.ActivityInboundInterceptorBase
	running chan struct{}
}

func (w *waiting) ExecuteActivity(ctx context.Context,
	_ *interceptor.ExecuteActivityInput) (any, error) {
	close(w.running)
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestCanceller_NamesTheStopTimeout(t *testing.T) {
	c, w := newCanceller(30*time.Second), &waiting{running: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := c.InterceptActivity(t.Context(), w).ExecuteActivity(t.Context(), nil)
		ended <- err
	}()
	<-w.running
	c.cancel()
	err := <-ended
	const want = "the worker stopped, and the call did not end within --stop-timeout 30s"
	if _, ok := errors.AsType[stoppedError](err); !ok || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func timed(name, lane string, timeout time.Duration) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Waits.",
		Entry:     toolspecs.Entry{Kind: toolspecs.CommandEntry{Argv: []string{"true"}}},
		Execution: toolspecs.ExecutionSpec{Lane: lane, Timeout: api.Duration(timeout)}}
}

func TestOutlasting_ListsServedToolsAboveTheStopTimeout(t *testing.T) {
	catalog, err := toolspecs.NewCatalog([]toolspecs.Spec{timed("long", "general", time.Hour),
		timed("equal", "general", time.Minute), timed("elsewhere", "serial", time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{StopTimeout: time.Minute, Lanes: []string{"general"}}
	if got := c.listLongTools(catalog); !slices.Equal(got, []string{"long"}) {
		t.Errorf("a worker of general lists %q", got)
	}
	c.Lanes = nil
	if got := c.listLongTools(catalog); !slices.Equal(got, []string{"elsewhere", "long"}) {
		t.Errorf("a worker of all lanes lists %q", got)
	}
}

func TestWarnOutlasting_NamesTheTools(t *testing.T) {
	var log output
	c := Config{StopTimeout: time.Second, Specs: []toolspecs.Spec{timed("long", "general",
		time.Hour)}, Logger: slog.New(slog.NewTextHandler(&log, nil))}.withDefaults()
	own, tools, err := c.prepare()
	if err != nil {
		t.Fatal(err)
	}
	defer own.close()
	defer tools.Close()
	c.warnOutlasting(tools)
	_, got, _ := strings.Cut(log.String(), "level=WARN ")
	const want = `msg="calls of tools with a timeout above --stop-timeout are cut off when this ` +
		`worker stops: raise --stop-timeout and the grace period of the process" ` +
		"stop_timeout=1s tools=1 names=[long]\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
