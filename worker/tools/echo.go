package tools

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

type echoInput struct {
	Text  string       `json:"text"`
	Delay api.Duration `json:"delay,omitzero"`
}

// echo returns the tool that returns its text, optionally after a delay.
func echo() tool.Function {
	return tool.NewFunction("echo", func(ctx context.Context, in echoInput) (string, error) {
		if in.Delay == 0 {
			return in.Text, nil
		}
		timer := time.NewTimer(in.Delay.Std())
		defer timer.Stop()
		select {
		case <-timer.C:
			return in.Text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}
