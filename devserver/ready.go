package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/headers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const (
	readyTimeout = 30 * time.Second      // for everything together; half a second is usual
	probePause   = 10 * time.Millisecond // between two tries
)

// readyLine is the one line on standard output.
type readyLine struct {
	Address   string `json:"address"`      // host:port of the frontend
	UI        string `json:"ui,omitempty"` // URL; absent when headless
	Namespace string `json:"namespace"`    // the first one
	PID       int    `json:"pid"`
	ReadyMS   int64  `json:"ready_ms"` // from the start of the process
}

// announce writes the ready line to stdout and the same for people to stderr.
func announce(s *server, took time.Duration, stdout, stderr io.Writer) error {
	line := readyLine{Address: s.address().String(), Namespace: s.cfg.namespaces[0],
		PID: os.Getpid(), ReadyMS: took.Milliseconds()}
	kept := "in memory, lost when it stops"
	if s.db.file != "" {
		kept = "in " + s.db.file
	}
	fmt.Fprintf(stderr, "Temporal server %s on %s, namespace %s, runs kept %s\n",
		headers.ServerVersion, line.Address, line.Namespace, kept)
	if s.ui != nil {
		line.UI = httpURL(reachable(s.ports.ui.addr))
		fmt.Fprintf(stderr, "Web UI on %s/namespaces/%s/workflows\n", line.UI, line.Namespace)
	}
	if err := json.NewEncoder(stdout).Encode(line); err != nil {
		return fmt.Errorf("cannot write the ready line: %w", err)
	}
	return nil
}

// awaitReady returns nil once a user would see everything work: the namespaces, history, search by
// attribute, and the UI.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(s.address().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	c := workflowservice.NewWorkflowServiceClient(conn)
	for _, namespace := range s.cfg.namespaces {
		if err := awaitNamespace(ctx, c, namespace); err != nil {
			return err
		}
	}
	if s.ui == nil {
		return nil
	}
	return until(ctx, "the Web UI",
		func() error { return uiAnswers(ctx, httpURL(reachable(s.ports.ui.addr))) })
}

func awaitNamespace(ctx context.Context, c workflowservice.WorkflowServiceClient,
	namespace string) error {
	err := until(ctx, "the history of namespace "+namespace,
		func() error { return historyAnswers(ctx, c, namespace) })
	if err != nil {
		return err
	}
	return until(ctx, "search by attribute", func() error { return searchable(ctx, c, namespace) })
}

// until tries until it works. When the context ends, it returns what did not answer and why not.
func until(ctx context.Context, what string, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", what, err)
		case <-time.After(probePause):
		}
	}
}

// historyAnswers asks for a run that does not exist: to know that, the server needs the namespace
// and its shard.
func historyAnswers(ctx context.Context, c workflowservice.WorkflowServiceClient,
	namespace string) error {
	_, err := c.DescribeWorkflowExecution(ctx,
		&workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace,
			Execution: &commonpb.WorkflowExecution{WorkflowId: "devserver-ready"},
		})
	if _, unknown := errors.AsType[*serviceerror.NotFound](serviceerror.FromStatus(
		status.Convert(err))); unknown {
		return nil
	}
	return errors.Join(err, ctx.Err())
}

func uiAnswers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
