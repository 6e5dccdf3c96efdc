package e2e

import (
	"context"
	"errors"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// What the tools of TestShown write to the journal before the name of what they do.
const (
	wroteStarted = "begun "
	wroteDone    = "done "
	wroteFailed  = "failed "
)

type workArgs struct {
	Text string `json:"text"`
	// Fails is how many attempts fail, Broken says that the call fails for good, Hold that it waits
	// for the gate.
	Fails        int  `json:"fails,omitempty"`
	Broken       bool `json:"broken,omitempty"`
	HostInstance bool `json:"hold,omitempty"`
}

// do is what lies between the two lines of an execution in the journal.
func (in workArgs) do(ctx context.Context) error {
	call, _ := api.ContextOf(ctx)
	switch {
	case in.Broken:
		return errors.New("it is broken")
	case call.Attempt <= in.Fails:
		return api.Transient(errors.New("not yet"), 0)
	case in.HostInstance:
		return gateOpens(ctx)
	}
	return nil
}

// recorded are the tools of TestShown.
var recorded = []switchyard.Function{
	switchyard.NewFunction("work", func(ctx context.Context, in workArgs) (string, error) {
		if err := write(ctx, entry{Text: wroteStarted + in.Text}); err != nil {
			return "", err
		}
		err, ending := in.do(ctx), wroteDone
		if err != nil {
			ending = wroteFailed
		}
		return in.Text, errors.Join(err, write(ctx, entry{Text: ending + in.Text}))
	}),
	switchyard.NewFunction("work_all", func(ctx context.Context, in struct {
		Texts []string `json:"texts"`
	}) ([]string, error) {
		name := strings.Join(in.Texts, "+")
		return in.Texts, errors.Join(write(ctx, entry{Text: wroteStarted + name}),
			write(ctx, entry{Text: wroteDone + name}))
	}),
}
