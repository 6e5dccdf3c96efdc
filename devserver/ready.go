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
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/server/common/headers"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
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

// clients call the server from this process.
type clients struct {
	workflow workflowservice.WorkflowServiceClient
	operator operatorservice.OperatorServiceClient
}

// awaitReady returns nil once a user would see everything work: the namespaces, history, the search
// attributes, which it registers, and the UI.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(s.address().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithNoProxy())
	if err != nil {
		return err
	}
	defer conn.Close()
	c := &clients{workflowservice.NewWorkflowServiceClient(conn),
		operatorservice.NewOperatorServiceClient(conn)}
	for _, namespace := range s.cfg.namespaces {
		if err := s.awaitNamespace(ctx, c, namespace); err != nil {
			return err
		}
	}
	if s.ui == nil {
		return nil
	}
	return until(ctx, "the Web UI", always,
		func() error { return uiAnswers(ctx, httpURL(reachable(s.ports.ui.addr))) })
}

func (s *server) awaitNamespace(ctx context.Context, c *clients, namespace string) error {
	for _, step := range []struct {
		what  string
		again func(error) bool
		try   func() error
	}{
		{"the history of namespace " + namespace, always,
			func() error { return historyAnswers(ctx, c, namespace) }},
		{"the operator service", busy, func() error {
			return register(ctx, c, namespace,
				s.cfg.searchAttrs)
		}},
		{"search by attribute", always, func() error {
			return searchable(ctx, c, namespace,
				s.cfg.searchAttrs)
		}},
	} {
		if err := until(ctx, step.what, step.again, step.try); err != nil {
			return err
		}
	}
	return nil
}

// until tries until it works. It returns the error of a try that is not worth another one, or, when
// the context ends, what did not answer and why not.
func until(ctx context.Context, what string, again func(error) bool, try func() error) error {
	for {
		err := try()
		if err == nil || !again(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w", what, err)
		case <-time.After(probePause):
		}
	}
}

func always(error) bool { return true }

// busy tells an answer that only means "later" from one that will not change.
func busy(err error) bool {
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.ResourceExhausted ||
		code == codes.DeadlineExceeded
}

// historyAnswers asks for a run that does not exist: to know that, the server needs the namespace
// and its shard.
func historyAnswers(ctx context.Context, c *clients, namespace string) error {
	_, err := c.workflow.DescribeWorkflowExecution(ctx,
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
