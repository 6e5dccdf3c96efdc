package e2e

import (
	"context"
	"errors"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
)

// Prefixes of the lines that the tools of TestRecords_EqualTheJournal write to the journal.
const (
	wroteStarted = "started "
	wroteDone    = "done "
	wroteFailed  = "failed "
)

type workArgs struct {
	Text string `json:"text"`
	// Fails is the number of failing attempts, Broken makes the call fail for good, Hold makes it
	// wait for the gate.
	Fails        int  `json:"fails,omitempty"`
	Broken       bool `json:"broken,omitempty"`
	HostInstance bool `json:"hold,omitempty"`
}

// do runs between the two lines of an execution in the journal.
func (in workArgs) do(ctx context.Context) error {
	call, _ := callcontext.From(ctx)
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

// recorded are the tools of TestRecords_EqualTheJournal.
var recorded = []tool.Function{
	tool.NewFunction("work", func(ctx context.Context, in workArgs) (string, error) {
		if err := write(ctx, entry{Text: wroteStarted + in.Text}); err != nil {
			return "", err
		}
		err, ending := in.do(ctx), wroteDone
		if err != nil {
			ending = wroteFailed
		}
		return in.Text, errors.Join(err, write(ctx, entry{Text: ending + in.Text}))
	}),
	tool.NewFunction("work_all", func(ctx context.Context, in struct {
		Texts []string `json:"texts"`
	}) ([]string, error) {
		name := strings.Join(in.Texts, "+")
		return in.Texts, errors.Join(write(ctx, entry{Text: wroteStarted + name}),
			write(ctx, entry{Text: wroteDone + name}))
	}),
}
