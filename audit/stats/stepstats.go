package stats

import (
	"cmp"
	"math"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// StepStats compares the token counts of model providers with those of our tokenizer.
type StepStats struct {
	// Steps counts the compared steps. EstimatedTokens are our counts of them, ActualTokens those
	// of the provider.
	Steps           int `json:"steps"`
	EstimatedTokens int `json:"estimated_tokens"`
	ActualTokens    int `json:"actual_tokens"`
	// Accuracy is the average ratio of the two, the smaller to the larger.
	Accuracy float64 `json:"accuracy,omitempty"`

	// accuracy is the sum over the steps in millionths.
	accuracy int64
}

// ModelStats are the statistics of the steps that one model made for one agent.
type ModelStats struct {
	Agent string `json:"agent"`
	Model string `json:"model"`
	StepStats
}

// agentModel is an agent and a model that answered it.
type agentModel struct{ agent, model string }

// modelSteps are the steps of one run by model.
type modelSteps map[string]*StepStats

// add counts a model step; nil is ignored. A step that only one side has counted cannot be
// compared.
func (m modelSteps) add(step *api.ModelResponse) {
	if step == nil {
		return
	}
	actual := step.Usage.InputTokens + step.Usage.OutputTokens
	if step.Estimated == 0 || actual == 0 {
		return
	}
	ratio := float64(min(step.Estimated, actual)) / float64(max(step.Estimated, actual))
	s := m[step.Model]
	if s == nil {
		s = &StepStats{}
		m[step.Model] = s
	}
	s.merge(StepStats{
		Steps: 1, EstimatedTokens: step.Estimated, ActualTokens: actual,
		accuracy: int64(math.Round(ratio * 1e6)),
	})
}

// addSteps adds the model steps of a run of an agent.
func (a *Analysis) addSteps(agent string, steps modelSteps) {
	for model, s := range steps {
		a.step(agentModel{agent, model}).merge(*s)
	}
}

func (a *Analysis) step(of agentModel) *StepStats {
	s := a.steps[of]
	if s == nil {
		s = &StepStats{}
		a.steps[of] = s
	}
	return s
}

func (s *StepStats) merge(o StepStats) {
	s.Steps += o.Steps
	s.EstimatedTokens += o.EstimatedTokens
	s.ActualTokens += o.ActualTokens
	s.accuracy += o.accuracy
}

// models returns the statistics of each agent and model, most steps first.
func (a *Analysis) models() (list []ModelStats) {
	for of, s := range a.steps {
		done := ModelStats{Agent: of.agent, Model: of.model, StepStats: *s}
		done.Accuracy = float64(s.accuracy) / 1e6 / float64(s.Steps)
		list = append(list, done)
	}
	slices.SortFunc(list, func(x, y ModelStats) int {
		return cmp.Or(
			cmp.Compare(y.Steps, x.Steps),
			cmp.Compare(x.Agent, y.Agent),
			cmp.Compare(x.Model, y.Model),
		)
	})
	return list
}
