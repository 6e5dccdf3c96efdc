package workflows

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

func TestPinnedDecoder_IsThatOfTheWorker(t *testing.T) {
	recorded := json.RawMessage(`{"catalog":{"digest":"recorded","tools":null}}`)
	env := new(testsuite.WorkflowTestSuite).NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(ctx workflow.Context) ([]string, error) {
		plain, err := decodePinned(ctx, recorded)
		if err != nil {
			return nil, err
		}
		ctx = WithPinnedDecoder(ctx, func(data []byte) (api.Pinned, error) {
			return api.Pinned{Catalog: api.Catalog{Digest: "decoded " + string(data)}}, nil
		})
		own, err := decodePinned(ctx, recorded)
		return []string{plain.Catalog.Digest, own.Catalog.Digest}, err
	})
	var got [2]string
	err := env.GetWorkflowResult(&got)
	if want := [2]string{"recorded", "decoded " + string(recorded)}; err != nil || got != want {
		t.Errorf("got %q, want %q, %v", got, want, err)
	}
}
