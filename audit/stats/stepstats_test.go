package stats

import (
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Steps are compared if both the provider and we counted, by agent and model. Analyses add up.
func TestStepStats_CompareCountedTokens(t *testing.T) {
	sum := NewAnalysis(Thresholds{})
	for _, step := range []*api.ModelResponse{
		nil,
		{Model: "m", Usage: api.Usage{InputTokens: 90, OutputTokens: 10}, Estimated: 80},
		{Model: "m", Usage: api.Usage{InputTokens: 100}, Estimated: 200},
		{Model: "m", Usage: api.Usage{InputTokens: 100}},
		{Model: "n", Usage: api.Usage{InputTokens: 7}, Estimated: 7},
	} {
		one := NewAnalysis(Thresholds{})
		steps := modelSteps{}
		steps.add(step)
		one.addSteps("clerk", steps)
		sum.Add(one)
	}
	got := sum.Report().Models
	for i := range got {
		got[i].accuracy = 0
	}
	want := []ModelStats{
		{
			"clerk",
			"m",
			StepStats{Steps: 2, EstimatedTokens: 280, ActualTokens: 200, Accuracy: 0.65},
		},
		{"clerk", "n", StepStats{Steps: 1, EstimatedTokens: 7, ActualTokens: 7, Accuracy: 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
