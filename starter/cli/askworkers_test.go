package cli

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/workerreport"
)

// questioned is a server whose workers answer with a value or an error, by their queue.
type questioned struct {
	client.Client
	answers map[string]any
	away    error
}

func (q *questioned) ExecuteActivity(_ context.Context, o client.StartActivityOptions, _ any,
	_ ...any) (client.ActivityHandle, error) {
	return answering{answer: q.answers[o.TaskQueue]}, q.away
}

type answering struct {
	client.ActivityHandle
	answer any
}

func (a answering) Get(_ context.Context, into any) error {
	if err, failed := a.answer.(error); failed {
		return err
	}
	data, err := json.Marshal(a.answer)
	return errors.Join(err, json.Unmarshal(data, into))
}

func TestAskWorkers_ReportsEveryWorker(t *testing.T) {
	tools := api.Pack([]workerreport.ToolVersion{{Name: "echo", Version: "1.0.0", Digest: "e"}})
	catalog := workerreport.Catalog{Worker: "of another name", Digest: "all", Tools: 1}
	server := &questioned{answers: map[string]any{
		"q/worker/a": workerreport.Answer{Catalog: catalog, ToolVersions: &tools},
		"q/worker/b": temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil),
		"q/worker/c": temporal.NewApplicationError("it is broken", "fault"),
	}}
	got, err := AskWorkers(t.Context(), server, "q", []string{"a", "b", "c"})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Catalogs,
		map[string][]workerreport.ToolVersion{"all": tools.Value}) {
		t.Errorf("got the tools %+v", got.Catalogs)
	}
	if w := got.Workers; len(w) != 3 || w[0].Worker != "a" || w[0].Tools != 1 ||
		w[1].Worker != "b" || !strings.HasPrefix(w[1].Failure, "it did not answer") ||
		w[2].Failure != "it is broken" {
		t.Errorf("got %+v", w)
	}
	server.away = errors.New("away")
	if _, err := AskWorkers(t.Context(), server, "q", []string{"a"}); !errors.Is(err, server.away) {
		t.Errorf("without the server: %v", err)
	}
}

func TestAskLanes_ReportsEveryWorker(t *testing.T) {
	counts := map[string]lanerules.Counts{"general": {Acquired: 2}}
	got, err := AskLanes(t.Context(), &questioned{answers: map[string]any{
		"q/worker/a": workerreport.Lanes{Lanes: counts},
		"q/worker/b": errors.New("cut off"),
	}}, "q", []string{"a", "b"})
	want := []workerreport.Lanes{{Worker: "a", Lanes: counts}, {Worker: "b", Failure: "cut off"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}
