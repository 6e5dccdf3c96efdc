package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/connection"
	"github.com/switchyard/switchyard/internal/healthcheck"
	"github.com/switchyard/switchyard/starter/cli"
	"go.temporal.io/sdk/client"
)

// serverWithin bounds a check of the Temporal server, checkedFor is how long its result is used:
// anyone who can connect may ask for the readiness.
const (
	serverWithin = 2 * time.Second
	checkedFor   = time.Second
)

// readiness answers whether this replica can serve: it is not stopping, and the Temporal server
// answers.
type readiness struct {
	client   client.Client
	stopping context.Context

	mu      sync.Mutex
	checked time.Time
	err     error
}

// ServeHTTP answers 200 or 503 with the reason.
func (r *readiness) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case r.stopping.Err() != nil:
		http.Error(w, "not ready: the gateway stops", http.StatusServiceUnavailable)
	case r.check(req.Context()) != nil:
		http.Error(w, "not ready: the Temporal server does not answer",
			http.StatusServiceUnavailable)
	default:
		fmt.Fprintln(w, "ready")
	}
}

func (r *readiness) check(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.checked) < checkedFor {
		return r.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverWithin)
	defer cancel()
	_, err := r.client.CheckHealth(ctx, &client.CheckHealthRequest{})
	r.checked, r.err = time.Now(), connection.Silence(err)
	return r.err
}

// checkHealth asks the gateway at address whether it is ready.
func checkHealth(ctx context.Context, a *cli.App, address string) error {
	if err := healthcheck.Ask(ctx, address, "/readyz"); err != nil {
		return cli.Errorf(cli.ExitFailed, "the gateway: %w", err)
	}
	return a.Println("ready")
}
