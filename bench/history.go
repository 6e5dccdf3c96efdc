package main

import (
	"context"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
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

const (
	conversationBytes = 800_000
	messageBytes      = 4_000
	resultBytes       = 5_000
)

// measureLongConversation runs 100 turns of 5 KB results after a conversation of 0.8 MB of real
// text.
func measureLongConversation(ctx context.Context, l *lab) (map[string]float64, error) {
	conversation, err := codec.EncodeMessages(talk(conversationBytes))
	if err != nil {
		return nil, err
	}
	s, err := l.agentHistory(ctx, api.RunInput{Agent: agent(turns, resultBytes), Prompt: "go"},
		conversation)
	return map[string]float64{"history_mb_long_conversation": float64(s.bytes) / 1e6}, err
}

func (l *lab) agentHistory(ctx context.Context, inputs ...any) (size, error) {
	first, _, err := l.runToEnd(ctx, api.DefaultTaskQueue, api.AgentWorkflow, inputs...)
	if err != nil {
		return size{}, err
	}
	return l.historySize(ctx, first)
}
