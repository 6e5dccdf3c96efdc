package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/audit/stats"
	"github.com/switchyard/switchyard/internal/parallel"
)

// runRef names a run: the latest of an ID, or the one that an execution belongs to.
type runRef struct{ ID, RunID string }

// backend is what the pages read and change.
type backend interface {
	// inbox returns what all open runs wait for, oldest first.
	inbox(ctx context.Context) ([]switchyard.Approval, []switchyard.Question, error)
	// waiting returns what a run and its sub-agents wait for.
	listWaits(ctx context.Context, run runRef) ([]switchyard.Approval, []switchyard.Question, error)
	list(ctx context.Context, q switchyard.RunQuery, size int, token []byte) (
		[]switchyard.ListedRun, []byte, error)
	// read reads a run so far; see audit.Read. outline reads what the server knows of it without
	// its history, and pending what it does now.
	read(ctx context.Context, run runRef, each func(api.Event)) (history.Summary, []api.Record,
		error)
	outline(ctx context.Context, run runRef) (history.Summary, error)
	listPending(ctx context.Context, run runRef) ([]audit.Running, error)
	report(ctx context.Context, runs []switchyard.ListedRun) (stats.Report, int, error)
	lanes(ctx context.Context, known []api.Lane) ([]lanestate.State, error)
	handle(run runRef) controlled
	namespace() string
}

// controlled is a run that people control; *switchyard.Run implements it.
type controlled interface {
	Decide(ctx context.Context, d switchyard.Decision) error
	Answer(ctx context.Context, r switchyard.Reply) error
	Send(ctx context.Context, s switchyard.Sent) error
	Pause(ctx context.Context, by, reason string) error
	Resume(ctx context.Context, by, reason string) error
	Cancel(ctx context.Context, by, reason string) error
}

// server is the backend of a Temporal server.
type server struct {
	client *switchyard.Client
	queue  string
}

func newServer(c Config) *server {
	return &server{client: c.Client, queue: cmp.Or(c.TaskQueue, api.DefaultTaskQueue)}
}

func (s *server) namespace() string { return s.client.Namespace() }

func (s *server) inbox(ctx context.Context) ([]switchyard.Approval, []switchyard.Question,
	error) {
	return s.client.Waiting(ctx)
}

func (s *server) open(run runRef) *switchyard.Run {
	return s.client.OpenExecution(run.ID, run.RunID)
}

func (s *server) handle(run runRef) controlled { return s.open(run) }

func (s *server) listWaits(ctx context.Context, run runRef) ([]switchyard.Approval,
	[]switchyard.Question, error) {
	approvals, err := s.open(run).Approvals(ctx)
	if err != nil {
		return nil, nil, err
	}
	questions, err := s.open(run).Questions(ctx)
	return approvals, questions, err
}

func (s *server) list(ctx context.Context, q switchyard.RunQuery, size int, token []byte) (
	[]switchyard.ListedRun, []byte, error) {
	return s.client.List(ctx, q, size, token)
}

func (s *server) read(ctx context.Context, run runRef, each func(api.Event)) (history.Summary,
	[]api.Record, error) {
	return audit.Read(ctx, s.client.Temporal(), run.ID, run.RunID, each)
}

func (s *server) outline(ctx context.Context, run runRef) (history.Summary, error) {
	return audit.Outline(ctx, s.client.Temporal(), run.ID, run.RunID)
}

func (s *server) listPending(ctx context.Context, run runRef) ([]audit.Running, error) {
	return audit.Pending(ctx, s.client.Temporal(), run.ID, run.RunID)
}

// report adds up runs with their sub-agents, and counts those that cannot be read.
func (s *server) report(ctx context.Context, runs []switchyard.ListedRun) (r stats.Report,
	missed int, err error) {
	parts, errs := make([]*stats.Analysis, len(runs)), make([]error, len(runs))
	parallel.Each(len(runs), func(i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			parts[i], errs[i] = s.analyse(ctx, runs[i])
		}
	})
	all := stats.NewAnalysis(stats.Thresholds{})
	for i, part := range parts {
		switch {
		case errs[i] == nil:
			all.Add(part)
		case ctx.Err() != nil || !unreadable(errs[i]):
			return r, missed, errs[i]
		default:
			missed++
		}
	}
	return all.Report(), missed, nil
}

// analyse reads a run with its sub-agents.
func (s *server) analyse(ctx context.Context, run switchyard.ListedRun) (*stats.Analysis, error) {
	one := stats.NewAnalysis(stats.Thresholds{})
	summary, err := one.AddTree(ctx, s.client.Temporal(), run.WorkflowID, run.RunID)
	if err == nil {
		one.AddRun(summary, nil)
	}
	return one, err
}

func (s *server) lanes(ctx context.Context, known []api.Lane) ([]lanestate.State, error) {
	reader := lanestate.NewReader(s.client.Temporal(), s.namespace(), s.queue)
	return reader.Read(ctx, known...)
}

// unreadable reports whether an error is about one run, and others may be read.
func unreadable(err error) bool {
	return errors.Is(err, audit.ErrNotFound) || errors.Is(err, history.ErrUnreadable) ||
		errors.Is(err, history.ErrNotARun)
}

// requestTypes maps errors of requests to the status of their pages.
var requestTypes = map[switchyard.RequestErrorType]int{
	switchyard.RequestInvalid: http.StatusUnprocessableEntity,
	switchyard.RunNotFound:    http.StatusNotFound,
	switchyard.NotARun:        http.StatusNotFound,
	switchyard.RunEnded:       http.StatusConflict,
	switchyard.RequestRefused: http.StatusConflict,
	switchyard.RunUnanswered:  http.StatusGatewayTimeout,
	switchyard.RunUnreadable:  http.StatusUnprocessableEntity,
	switchyard.ServerRefused:  http.StatusUnprocessableEntity,
}

// explain returns the status and the text of a page about an error.
func explain(err error) (status int, text string) {
	if e, ok := errors.AsType[*switchyard.RequestError](err); ok && requestTypes[e.Type] != 0 {
		return requestTypes[e.Type], sentence(e.Message)
	}
	switch {
	case errors.Is(err, errCrossSite):
		return http.StatusForbidden, "The form was sent by another site."
	case errors.Is(err, errRole):
		return http.StatusForbidden, "Your role does not allow this."
	case errors.Is(err, audit.ErrNotFound):
		return http.StatusNotFound, "There is no such run, or the server no longer has it."
	case errors.Is(err, history.ErrNotARun):
		return http.StatusNotFound, "The workflow with this ID is not a run."
	case errors.Is(err, history.ErrUnreadable):
		return http.StatusUnprocessableEntity,
			"The run cannot be read with the payload settings of this gateway."
	}
	return http.StatusServiceUnavailable, away
}

// Texts for a server that does not answer: of a page, and after a form.
const (
	away   = "Temporal cannot be reached at the moment. The page tries again."
	unsure = "Temporal cannot be reached at the moment. The form may have taken effect: look at the " +
		"run before you send it again."
)
