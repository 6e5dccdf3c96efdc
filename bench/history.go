package main

import (
	"context"

	"github.com/switchyard/switchyard/api"
)

// measureGrowth compares the history bytes per turn of a long run and a short one.
func measureGrowth(ctx context.Context, l *lab) (map[string]float64, error) {
	var perTurn [2]float64
	for i, n := range []int{100, 400} {
		s, err := l.agentHistory(ctx, api.RunInput{Agent: agent(n, turnSize), Prompt: "go"})
		if err != nil {
			return nil, err
		}
		perTurn[i] = float64(s.bytes) / float64(n)
	}
	return map[string]float64{"history_growth_ratio": perTurn[1] / perTurn[0]}, nil
}

func (l *lab) agentHistory(ctx context.Context, inputs ...any) (size, error) {
	first, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow, inputs...)
	if err != nil {
		return size{}, err
	}
	return l.historySize(ctx, first)
}
