package slots

import (
	"context"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/converter"
)

// A returned model step would use up an attempt, so the limit over all lanes applies to calls only.
func TestWhileOpen_ReturnsOnlyCallsBeyondTheLimitOfAllLanes(t *testing.T) {
	server := New(Config{
		Excess: func() bool { return true },
		Tool: func(context.Context, converter.EncodedValues) (api.Result, error) {
			return api.Result{}, nil
		},
		Model: func(context.Context, api.ModelRequest) (api.ModelResponse, error) {
			return api.ModelResponse{Model: "m"}, nil
		},
	})
	tool, model := server.WhileOpen(NewWorkerSlots(1), api.LaneGeneral)
	if r, err := model(t.Context(), api.ModelRequest{}); err != nil || r.Model != "m" {
		t.Errorf("a model step: %+v, %v", r, err)
	}
	if _, err := tool(t.Context(), nil); err == nil {
		t.Error("a call beyond the limit runs")
	}
}
